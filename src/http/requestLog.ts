import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Caller } from '../context.js';
import { problems } from '../problem.js';
import { requestIdOf } from './requestId.js';
import { routeOf } from './route.js';
import type { RefusalObserver } from './server.js';

/**
 * One line a request, with ids and the path template only: no path, query, header or body, which may hold health data or
 * secrets. (A general request logger would have to be told to leave out nearly everything that it logs.)
 */
export function requestLog(log: Logger): RequestHandler {
  return (req, res, next) => {
    const start = process.hrtime.bigint();
    res.once('close', () => {
      const route = routeOf(res);
      const caller = res.locals['caller'] as Caller | undefined;
      log.info(
        {
          requestId: requestIdOf(res),
          method: req.method,
          route: route?.path ?? null,
          operationId: route?.operationId ?? null,
          // Null: no response was sent.
          status: res.headersSent ? res.statusCode : null,
          code: res.locals['code'],
          tenantId: caller?.tenantId,
          clientId: caller?.clientId,
          durationMs: Number(process.hrtime.bigint() - start) / 1e6,
          ...(res.writableFinished ? {} : { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

/** The same for what Node refused before there was a request. */
export function refusalLog(log: Logger, version: string): RefusalObserver {
  return (requestId, code) => {
    const nothing = { method: null, route: null, operationId: null };
    log.info({ requestId, ...nothing, status: problems[code].status, code, durationMs: 0 }, 'request');
    return { 'API-Version': version, 'X-Content-Type-Options': 'nosniff' };
  };
}
