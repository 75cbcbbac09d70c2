import { setTimeout as delay } from 'node:timers/promises';
import { ADDRESS_HEADER, ASKED_HEADER } from '../../adapters/cells/otherCell.js';
import type { Context, PublicContext, RequestAudit, Services } from '../../context.js';
import type { LimitName } from '../../adapters/limits/limits.js';
import { withSampleFiles } from '../../domain/sandbox/sampleFiles.js';
import { aheadOf } from '../../domain/transactions/transaction.js';
import { readBody, requireFinite } from './body.js';
import { version } from '../../packageRoot.js';
import type { Endpoint } from './endpoint.js';
import { failureOf, RETRY_AFTER } from './errors.js';
import { buildMatcher, type Match } from './matcher.js';
import { limitHeaders, limitsOf, REFUSAL_DELAY_MS } from './limits.js';
import { idempotencyOf, type Head } from './parameters.js';
import { requestAudit, type ValidatedRequest } from './audit.js';
import { addressOf, hasGone, type Request, type Response } from './route.js';
import { behaviorOf, sandboxBehavior } from './sandboxBehavior.js';
import { bearerAuthentication, requirePermissions, type Authenticated } from './security.js';
import { openTenantLimiter, unreadResponses } from './tenantLimiter.js';
import { sampled, type Answer } from './validation.js';

export interface Backend {
  match(method: string, path: string): Match<Endpoint>;
  /** Headers that every response has. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends a successful response, or rejects with the error, which `http/endpoint/errors.ts` turns into a response. */
  answer(endpoint: Endpoint, head: Head, req: Request, res: Response): Promise<void>;
}

/**
 * Answers requests: authenticates, counts, authorises, reads, validates, runs, checks and sends, in this order.
 * @param protective headers of every response, in addition to those of the contract
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

  /** The context of a secured operation. In a sandbox, it has the sandbox's time and downloads sample files. */
  const securedContext = (
    context: PublicContext,
    { caller, clockOffsetMs }: Authenticated,
    ofRequest: Pick<Context, 'idempotency' | 'withoutSlot'>,
  ): Context => {
    const live = { ...context, caller, routes, realNow: context.now, ...ofRequest };
    if (caller.tenantMode === 'live') return live;
    return { ...live, ...sampleFiles, now: aheadOf(context.now, clockOffsetMs) };
  };

  /** Runs an operation and fills `request`. @returns null if the caller hung up first, so that nothing was run */
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
    // Read the body only now: a caller that gets 401, 429 or 403 must not make the service read it.
    const body = endpoint.mediaTypes ? await readBody(req, res, endpoint.mediaTypes) : undefined;
    endpoint.checkBody(body);
    requireFinite(body);
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
          return begin(securedContext(context, authenticated, { idempotency, withoutSlot }));
        })
      : begin(context);
    const result = await running
      .catch((error: unknown) => {
        // Ignore a timeout while waiting for a slot if the caller had hung up before.
        if (hasBegun || !hasGone(req)) throw error;
        return null;
      })
      .finally(() => caller && endpoint.mayMoveClock && forget(caller.tenantId));
    if (result === null) return null;
    if (validateResponses) endpoint.checkResponse(result);
    else if (caller?.tenantMode === 'sandbox') endpoint.checkResponse(sampled(result));
    return result;
  };

  /** Answers a request. Commits its audit rows before it sends the response. */
  const answer = async (endpoint: Endpoint, head: Head, req: Request, res: Response): Promise<void> => {
    const { locals } = res;
    locals.route = endpoint;
    const audit = requestAudit(endpoint, services, req, locals);
    const record = async (response: Parameters<typeof audit.rowOf>[0]): Promise<void> => {
      const isPending = endpoint.audit && audit.clientId !== null && !audit.isCommitted;
      if (isPending) await services.auditLog.record(audit.rowOf(response));
    };
    const stated = req.headers[ADDRESS_HEADER];
    if (stated !== undefined && endpoint.limit === 'token') {
      locals.statedAddress = await services.tokens.verifyAddress(String(stated), services.now());
    }
    const context = publicContext(services, req, res, audit);
    const result = await run(endpoint, head, req, res, context, audit.request).catch(async (error: unknown) => {
      const failure = failureOf(endpoint.operationId, error);
      const recording = record(failure);
      // For a 503, do not wait for the audit's commit, which may be slow as well: this response discloses no data.
      if (failure.status === 503) recording.catch(() => undefined);
      else await recording;
      // Delay failing token requests, which anyone can send: so each connection sends only few.
      if (endpoint.limit === 'token' && services.limits && failure.status < 429) await delay(REFUSAL_DELAY_MS);
      throw failure.problem;
    });
    if (result === null) return;
    await record(result);
    const bytes = send(res, common, result);
    if (audit.tenantId !== null) unread.count(audit.tenantId, bytes, res);
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

/** Counts a request against the caller's limits. @throws Problem rate_limited */
async function countCall(
  { requestLimits }: PublicContext,
  limit: LimitName,
  { caller: { apiClientId }, requestsPerMinute }: Authenticated,
): Promise<void> {
  if (limit === 'default') await requestLimits.count('burst', apiClientId, requestsPerMinute);
  await requestLimits.count(limit, apiClientId, requestsPerMinute);
}

/** Sends the response. @returns the length of its body in bytes */
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
