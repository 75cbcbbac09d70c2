import { setTimeout as delay } from 'node:timers/promises';
import { ADDRESS_HEADER, ASKED_HEADER } from '../../adapters/cells/otherCell.js';
import type { Context, PublicContext, RequestAudit, Services } from '../../context.js';
import type { LimitName } from '../../adapters/limits/limits.js';
import { withSampleFiles } from '../../domain/sandbox/sampleFiles.js';
import { aheadOf } from '../../domain/transactions/transaction.js';
import { readBody } from './body.js';
import { version } from '../../packageRoot.js';
import type { Endpoint } from './endpoint.js';
import { failureOf, RETRY_AFTER } from './errors.js';
import { buildMatcher, type Match } from './matcher.js';
import { limitHeaders, limitsOf, REFUSAL_DELAY_MS } from './limits.js';
import { idempotencyOf, type Head } from './parameters.js';
import { requestAudit, rowsOf, type ValidatedRequest } from './audit.js';
import { addressOf, hasGone, type Request, type Response } from './route.js';
import { behaviorOf, sandboxBehavior } from './sandboxBehavior.js';
import { bearerAuthentication, requirePermissions, type Authenticated } from './security.js';
import { openTenantLimiter, unreadResponses } from './tenantLimiter.js';
import { sampled, type Answer } from './validation.js';

export interface Backend {
  match(method: string, path: string): Match<Endpoint>;
  /** The headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends the response, or rejects with an error for `http/endpoint/errors.ts`. */
  answer(endpoint: Endpoint, head: Head, req: Request, res: Response): Promise<void>;
}

/**
 * Authenticates, counts, authorises, reads, validates, runs, checks and sends, with prepared endpoints.
 * @param protective headers of every response, besides those of the contract
 */
export function createBackend(
  endpoints: readonly Endpoint[],
  services: Services,
  protective: Readonly<Record<string, string>>,
): Backend {
  const common = { ...protective, 'API-Version': version, 'Cache-Control': 'no-store' };
  const { authenticate, forget } = bearerAuthentication();
  const { validateResponses, databasePoolSize } = services.config;
  const limiter = openTenantLimiter(databasePoolSize);
  const unread = unreadResponses();
  const behave = sandboxBehavior();
  const routes: Context['routes'] = new Map(
    endpoints.map(({ operationId, method, path }) => [operationId, { method: method.toUpperCase(), path }]),
  );
  const sampleFiles = { download: withSampleFiles(services.download) };

  /** A sandbox has its own time, and sample files. */
  const securedContext = (
    context: PublicContext,
    { caller, clockOffsetMs }: Authenticated,
    ofRequest: Pick<Context, 'idempotency' | 'withoutSlot' | 'hasGone'>,
  ): Context => {
    const live = { ...context, caller, routes, realNow: context.now, ...ofRequest };
    if (caller.tenantMode === 'live') return live;
    return { ...live, ...sampleFiles, now: aheadOf(context.now, clockOffsetMs) };
  };

  /** Fills `request`. @returns null when the caller hung up before the operation began, which then does not run */
  const run = async (
    endpoint: Endpoint,
    head: Head,
    req: Request,
    res: Response,
    context: PublicContext,
    request: ValidatedRequest,
  ): Promise<Answer | null> => {
    const authenticated = endpoint.permissions && (await authenticate(context));
    const caller = authenticated?.caller;
    res.locals.caller = caller;
    if (endpoint.permissions && authenticated) {
      await countCall(context, endpoint.limit, authenticated);
      requirePermissions(authenticated.caller, endpoint.permissions);
    }
    const behavior = caller && behaviorOf(head.headers, caller, endpoint);
    Object.assign(request, endpoint.readParameters(head));
    // 401, 429 and 403 precede 400 and 413: read no byte of a body that the caller may not send.
    const body = endpoint.mediaTypes ? await readBody(req, res, endpoint.mediaTypes) : undefined;
    endpoint.checkBody(body);
    request.body = body;
    const idempotency = endpoint.takesKey ? idempotencyOf(endpoint.operationId, head, body) : null;
    if (caller && behavior) await behave(behavior, caller, res.locals);
    if (caller) unread.requireRoom(caller.tenantId);
    let hasBegun = false;
    const begin = async (operationContext: PublicContext): Promise<Answer | null> => {
      if (hasGone(req)) return null;
      hasBegun = true;
      return endpoint.run(request, operationContext);
    };
    const running = authenticated
      ? limiter.run(authenticated.caller, (withoutSlot) => {
          const ofRequest = { idempotency, withoutSlot, hasGone: () => hasGone(req) };
          const secured = securedContext(context, authenticated, ofRequest);
          return endpoint.method === 'get' ? services.reads.run((db) => begin({ ...secured, db })) : begin(secured);
        })
      : begin(context);
    const result = await running
      .catch((error: unknown) => {
        // The wait for a slot timed out, but the caller hung up before.
        if (hasBegun || !hasGone(req)) throw error;
        return null;
      })
      .finally(() => caller && endpoint.mayMoveClock && forget(caller.tenantId));
    if (result === null) return null;
    if (validateResponses) endpoint.checkResponse(result);
    else if (caller?.tenantMode === 'sandbox') endpoint.checkResponse(sampled(result));
    return result;
  };

  /** Commits the audit rows of a request before the response is sent. */
  const answer = async (endpoint: Endpoint, head: Head, req: Request, res: Response): Promise<void> => {
    const { locals } = res;
    locals.route = endpoint;
    const audit = requestAudit(endpoint, services, req, locals);
    const record = async (response: Parameters<typeof audit.rowOf>[0]): Promise<void> => {
      const isPending = endpoint.audit && audit.clientId !== null && !audit.isCommitted;
      if (isPending) await Promise.all(rowsOf(audit, response).map((row) => services.auditLog.record(row)));
    };
    const stated = req.headers[ADDRESS_HEADER];
    if (stated !== undefined && endpoint.limit === 'token') {
      locals.statedAddress = await services.tokens.verifyAddress(String(stated), services.now());
    }
    const context = publicContext(services, req, res, audit);
    const result = await run(endpoint, head, req, res, context, audit.request).catch(async (error: unknown) => {
      const failure = failureOf(endpoint.operationId, error);
      const recording = record(failure);
      // Do not wait for the database again: a 503 discloses no data, and the response would be late.
      if (failure.status === 503) recording.catch(() => undefined);
      else await recording;
      // Anyone can send failing token requests, so the delay bounds them per connection.
      if (endpoint.limit === 'token' && services.limits && failure.status < 429) await delay(REFUSAL_DELAY_MS);
      throw failure.problem;
    });
    if (result === null) return;
    await record(result);
    const bytes = send(res, common, result);
    if (audit.tenantId === null) return;
    unread.count(audit.tenantId, bytes, res);
    limiter.charge(audit.tenantId, bytes);
  };
  return { match: buildMatcher(endpoints), headers: common, answer };
}

function publicContext(services: Services, req: Request, res: Response, audit: RequestAudit): PublicContext {
  const { locals } = res;
  const { authorization, [ASKED_HEADER]: asked } = req.headers;
  const cellsAsked = asked === undefined ? undefined : String(asked);
  const callerAddress = (): string | null => addressOf(req, locals, services.config);
  const requestLimits = limitsOf(services.limits, locals, callerAddress);
  const untilGone = (): AbortSignal => {
    const controller = new AbortController();
    if (res.closed) controller.abort();
    else res.once('close', () => controller.abort());
    return controller.signal;
  };
  const ofRequest = { requestId: locals.requestId, authorization, cellsAsked, callerAddress, untilGone };
  return { ...services, ...ofRequest, audit, requestLimits };
}

/** @throws Problem rate_limited */
async function countCall(
  { requestLimits }: PublicContext,
  limit: LimitName,
  { caller: { apiClientId }, requestsPerMinute }: Authenticated,
): Promise<void> {
  if (limit === 'default') await requestLimits.count('burst', apiClientId, requestsPerMinute);
  await requestLimits.count(limit, apiClientId, requestsPerMinute);
}

/** @returns the length of the body in bytes */
function send(res: Response, common: Readonly<Record<string, string>>, { status, headers, body }: Answer): number {
  const { locals } = res;
  const all: Record<string, string | number> = { 'X-Request-Id': locals.requestId, ...common, ...limitHeaders(locals) };
  if (status === 503) all['Retry-After'] = RETRY_AFTER;
  if (headers) Object.assign(all, headers);
  const isPdf = body instanceof Uint8Array;
  const sent = isPdf ? body : status === 204 ? '' : JSON.stringify(body);
  const bytes = Buffer.byteLength(sent);
  if (bytes > 0) {
    all['Content-Type'] = isPdf ? 'application/pdf' : 'application/json; charset=utf-8';
    all['Content-Length'] = bytes;
  }
  res.writeHead(status, all).end(sent);
  return bytes;
}
