import type { Logger } from 'pino';
import { metrics } from '../metrics.js';
import { problems } from '../problem.js';
import type { Request, Response } from './route.js';
import type { RefusalObserver } from './server.js';

/**
 * One line a request, with ids and the path template only: no path, query, header or body, which may hold health data or
 * secrets. (A general request logger would have to be told to leave out nearly everything that it logs.)
 */
export function logWhenClosed(log: Logger, { method }: Request, res: Response): void {
  const start = performance.now();
  res.once('close', () => {
    const { requestId, route, caller, code } = res.locals;
    // Null: no response was sent.
    const status = res.headersSent ? res.statusCode : null;
    const durationMs = performance.now() - start;
    countRequest(route?.operationId, status, durationMs);
    log.info(
      {
        requestId,
        method,
        route: route?.path ?? null,
        operationId: route?.operationId ?? null,
        status,
        code,
        tenantId: caller?.tenantId,
        clientId: caller?.clientId,
        durationMs,
        ...(res.writableFinished ? {} : { aborted: true }),
      },
      'request',
    );
  });
}

/** The same for what Node refused before there was a request. */
export function refusalLog(log: Logger, version: string): RefusalObserver {
  return (requestId, code) => {
    countRequest(undefined, problems[code].status, 0);
    const nothing = { method: null, route: null, operationId: null };
    log.info({ requestId, ...nothing, status: problems[code].status, code, durationMs: 0 }, 'request');
    return { 'API-Version': version, 'X-Content-Type-Options': 'nosniff' };
  };
}

function countRequest(operation = 'none', status: number | null, durationMs: number): void {
  metrics?.requests.observe({ operation, status: status ?? 'none' }, durationMs / 1000);
}
