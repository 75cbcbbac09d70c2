import type { Logger } from 'pino';
import { anyUuid } from '../../domain/transactions/uuid.js';
import { metrics, tracing } from '../../telemetry.js';
import { logIdsOf, type Request, type Response } from '../endpoint/route.js';

/** Logs one line per request with ids and the path template: path, query, headers and body may hold health data. */
export function logWhenClosed(log: Logger, req: Request, res: Response): void {
  const span = tracing?.startRequest(req);
  res.locals.traceId = span?.traceId ?? traceIdOf(req.headers['traceparent']);
  const start = performance.now();
  res.once('close', () => {
    const { route, caller, code, behavior } = res.locals;
    // Null = no response was sent.
    const status = res.headersSent ? res.statusCode : null;
    const durationMs = performance.now() - start;
    const ownMs = Math.max(0, durationMs - (behavior?.delayMs ?? 0));
    if (!behavior?.problem) countRequest(route?.operationId, status, ownMs);
    span?.end({ route: route?.path, operationId: route?.operationId, status });
    log.info(
      {
        method: req.method,
        ...logIdsOf(res),
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

/** Matches a valid `traceparent`. Version 00 has exactly four parts; later ones may have more. `ff` is invalid. */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;

/** The trace that the caller's `traceparent` names (W3C Trace Context); a malformed one is ignored. */
function traceIdOf(traceparent: string | string[] | undefined): string | undefined {
  return TRACEPARENT.exec(String(traceparent ?? ''))?.[1];
}

function countRequest(operation = 'none', status: number | null, durationMs: number): void {
  metrics?.requests.observe({ operation, status: status ?? 'none' }, durationMs / 1000);
}

/** The caller's `X-Request-Id` if it is a UUID, otherwise a new id. */
export function requestIdFor(given: string | string[] | undefined, newId: () => string): string {
  return typeof given === 'string' && anyUuid.test(given) ? given.toLowerCase() : newId();
}
