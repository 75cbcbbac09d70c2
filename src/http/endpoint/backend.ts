import { setTimeout as delay } from 'node:timers/promises';
import type { Context, PublicContext, RequestAudit, Services } from '../../context.js';
import { keepExchange } from '../../domain/audit/exchanges.js';
import { withSampleFiles } from '../../domain/sandbox/sampleFiles.js';
import { aheadOf } from '../../domain/transactions/transaction.js';
import { Problem } from '../../problem.js';
import { readBody } from './body.js';
import { version } from '../../packageRoot.js';
import type { Endpoint } from './endpoint.js';
import { sqlState } from '../../adapters/database/databaseErrors.js';
import { failureOf, problemBody, RETRY_AFTER } from './errors.js';
import { buildMatcher } from './matcher.js';
import { limitHeaders, limitsOf, REFUSAL_DELAY_MS } from './limits.js';
import { idempotencyOf, type Head } from './parameters.js';
import { requestAudit, type ValidatedRequest } from './audit.js';
import { addressOf, hasGone, logIdsOf, type Request, type Response } from './route.js';
import { sandboxBehavior } from './sandboxBehavior.js';
import { bearerAuthentication, requirePermissions, type Authenticated } from './security.js';
import { isLargePage, openTenantLimiter, unreadResponses } from './tenantLimiter.js';
import { sampled, type Answer } from './validation.js';

export type Backend = ReturnType<typeof createBackend>;

/** A request under way, and what its steps have found. */
interface Exchange {
  readonly endpoint: Endpoint;
  readonly head: Head;
  readonly req: Request;
  readonly res: Response;
  readonly context: PublicContext;
  /** The validated parts, for the operation and for the audit. */
  readonly request: ValidatedRequest;
  /** The body that was read. */
  sent: unknown;
  /** Null before authentication, and for public operations. */
  authenticated: Authenticated | null;
}

/** Answers requests. @param protective headers of its responses, in addition to those of the contract */
export function createBackend(
  endpoints: readonly Endpoint[],
  services: Services,
  protective: Readonly<Record<string, string>>,
) {
  const common = { ...protective, 'API-Version': version, 'Cache-Control': 'no-store' };
  const { authenticate, forget } = bearerAuthentication(services);
  const unread = unreadResponses();
  const runInSlot = slots(endpoints, services, unread);

  /** The steps of a request, as in src/README.md. @returns null if the caller hung up first, so that nothing was run */
  const perform = async (exchange: Exchange): Promise<Answer | null> => {
    const { endpoint, context } = exchange;
    if (endpoint.permissions) exchange.authenticated = await authenticate(context);
    exchange.res.locals.caller = exchange.authenticated?.caller;
    await limit(exchange);
    authorize(exchange);
    exchange.sent = await read(exchange);
    validate(exchange);
    return runInSlot(exchange).finally(() => {
      if (endpoint.mayMoveClock) forget(context.audit.tenantId ?? '');
    });
  };
  /** Sends a successful response, or rejects with the error, which `errors.ts` turns into a response. */
  const answer = async (endpoint: Endpoint, head: Head, req: Request, res: Response): Promise<void> => {
    res.locals.route = endpoint;
    const audit = requestAudit(endpoint, services, req, res.locals);
    const context = publicContext(services, req, res, audit);
    const exchange = {
      endpoint,
      head,
      req,
      res,
      context,
      request: audit.request,
      sent: undefined,
      authenticated: null,
    };
    const result = await perform(exchange).catch((error: unknown) => fail(exchange, error));
    if (result === null) return;
    const bytes = respond(res, common, result);
    if (audit.tenantId !== null) unread.count(audit.tenantId, bytes, res);
  };
  const match = buildMatcher(endpoints);
  return { match, /** Headers of responses; pages and files replace some. */ headers: common, answer };
}

/** Counts a request against the caller's limits. @throws Problem rate_limited */
async function limit({ endpoint, context: { requestLimits }, authenticated }: Exchange): Promise<void> {
  if (!authenticated) return;
  const { caller, requestsPerMinute } = authenticated;
  if (endpoint.limit === 'default') await requestLimits.count('burst', caller.apiClientId, requestsPerMinute);
  await requestLimits.count(endpoint.limit, caller.apiClientId, requestsPerMinute);
}

function authorize({ endpoint, authenticated }: Exchange): void {
  if (endpoint.permissions && authenticated) requirePermissions(authenticated.caller, endpoint.permissions);
}

/** Reads the parameters, then the body: a caller that gets 401, 429 or 403 must not make the service read it. */
async function read({ endpoint, head, req, res, request }: Exchange): Promise<unknown> {
  Object.assign(request, endpoint.readParameters(head));
  return endpoint.mediaTypes ? readBody(req, res, endpoint.mediaTypes) : undefined;
}

function validate({ endpoint, request, sent }: Exchange): void {
  endpoint.checkBody(sent);
  request.body = sent;
}

/** Creates the step that runs an operation: a secured one after a delay that a sandbox asks for, in its tenant's slot. */
function slots(endpoints: readonly Endpoint[], services: Services, unread: ReturnType<typeof unreadResponses>) {
  const limiter = openTenantLimiter(services.config.databasePoolSize);
  const behave = sandboxBehavior();
  const sampleFiles = { download: withSampleFiles(services.download) };
  const routes: Context['routes'] = new Map(
    endpoints.map(({ operationId, method, path }) => [operationId, { method: method.toUpperCase(), path }]),
  );
  return async (exchange: Exchange): Promise<Answer | null> => {
    const { endpoint, head, req, res, context, request, authenticated } = exchange;
    if (!authenticated) return hasGone(req) ? null : checkAndRecord(exchange, endpoint.run(request, context));
    const { caller, clockOffsetMs } = authenticated;
    await behave(head.headers, caller, endpoint, res.locals);
    unread.requireRoom(caller.tenantId);
    const idempotency = endpoint.takesKey ? idempotencyOf(endpoint.operationId, head, request.body) : null;
    let hasBegun = false;
    const run = async (withoutSlot: Context['withoutSlot']): Promise<Answer | null> => {
      if (hasGone(req)) return null;
      hasBegun = true;
      const live = { caller, routes, realNow: context.now, idempotency, withoutSlot, ...context };
      if (caller.tenantMode === 'live') return endpoint.run(request, live);
      // A sandbox has its own time, and downloads sample files.
      return endpoint.run(request, { ...live, ...sampleFiles, now: aheadOf(context.now, clockOffsetMs) });
    };
    const running = isLargePage(request.query)
      ? limiter.runPage(caller, (withoutSlot) => checkAndRecord(exchange, run(withoutSlot)))
      : checkAndRecord(exchange, limiter.run(caller, run));
    return running.catch((error: unknown) => {
      // Ignore that no slot was given if the caller had hung up before.
      if (hasBegun || !hasGone(req)) throw error;
      return null;
    });
  };
}

/** Checks and records a response before it is sent. */
async function checkAndRecord(exchange: Exchange, running: Promise<Answer | null>): Promise<Answer | null> {
  const result = await running;
  if (result === null) return null;
  checkResponse(exchange, result);
  await record(exchange, result);
  await keep(exchange, result);
  return result;
}

function checkResponse({ endpoint, context, authenticated }: Exchange, result: Answer): void {
  if (context.config.validateResponses) endpoint.checkResponse(result);
  else if (authenticated?.caller.tenantMode === 'sandbox') endpoint.checkResponse(sampled(result));
}

/** Records a failure. @throws its problem */
async function fail(exchange: Exchange, error: unknown): Promise<never> {
  const { endpoint, context } = exchange;
  const failure = failureOf(endpoint.operationId, error);
  const recording = record(exchange, failure);
  // For a 503, do not wait for the audit's commit, which may be slow as well: this response discloses no data.
  if (failure.status === 503) recording.catch(() => undefined);
  else {
    await recording;
    const body = failure.problem instanceof Problem ? problemBody(failure.problem, context.requestId) : null;
    await keep(exchange, { ...failure, body });
  }
  // Delay failing token requests, which anyone can send, so that each connection can send only a few.
  if (endpoint.limit === 'token' && context.limits && failure.status < 429) await delay(REFUSAL_DELAY_MS);
  throw failure.problem;
}

/** Commits the audit row of a response if it needs one that the operation's transaction has not committed. */
async function record({ endpoint, context }: Exchange, response: Parameters<RequestAudit['rowOf']>[0]): Promise<void> {
  const { audit, recordAudit } = context;
  if (!endpoint.audit || audit.clientId === null || audit.isRecorded) return;
  // Not again after a failure, because the row may be committed.
  audit.isRecorded = true;
  await recordAudit(audit.rowOf(response));
}

/** Keeps a sandbox's request with its response. A failure is only logged: the response must still be sent. */
async function keep(
  { endpoint, req, res, context, sent, authenticated }: Exchange,
  { status, code, body }: Parameters<RequestAudit['rowOf']>[0],
): Promise<void> {
  if (authenticated?.caller.tenantMode !== 'sandbox') return;
  const { tenantId, clientId } = authenticated.caller;
  const { operationId } = endpoint;
  const ids = { tenantId, clientId, operationId, requestId: context.requestId, at: context.now() };
  const bodies = { target: req.url ?? '', requestBody: sent, responseBody: body };
  await keepExchange(context, { ...ids, ...bodies, status, code: code ?? null }).catch((error: unknown) => {
    context.log.warn({ ...logIdsOf(res), sqlstate: sqlState(error) }, 'a request of a sandbox was not kept');
  });
}

function publicContext(services: Services, req: Request, res: Response, audit: RequestAudit): PublicContext {
  const { locals } = res;
  const { authorization } = req.headers;
  const requestLimits = limitsOf(services.limits, locals, () => addressOf(req, services.config));
  return { requestId: locals.requestId, authorization, audit, requestLimits, ...services };
}

/** Sends the response. @returns the length of its body in bytes */
function respond(res: Response, common: Readonly<Record<string, string>>, { status, headers, body }: Answer): number {
  const { locals } = res;
  const all: Record<string, string | number> = { 'X-Request-Id': locals.requestId, ...common, ...limitHeaders(locals) };
  if (status === 503) all['Retry-After'] = RETRY_AFTER;
  if (headers) Object.assign(all, headers);
  const isPdf = body instanceof Uint8Array;
  const sent = isPdf ? body : body === null ? '' : JSON.stringify(body);
  const bytes = Buffer.byteLength(sent);
  if (bytes > 0) {
    all['Content-Type'] = isPdf ? 'application/pdf' : 'application/json; charset=utf-8';
    all['Content-Length'] = bytes;
  }
  res.writeHead(status, all).end(sent);
  return bytes;
}
