import { OpenAPIBackend } from 'openapi-backend';
import { withMembers, type Context, type PublicContext, type RequestAudit, type Services } from '../context.js';
import type { LimitName } from '../adapters/limits/limits.js';
import type { OperationId } from '../contract.js';
import { withSampleFiles } from '../domain/sandbox/sampleFiles.js';
import { inTenantTime } from '../domain/transactions/transaction.js';
import type { Operations } from '../operations/operation.js';
import { readBody } from './body.js';
import { callerAddress } from './callerAddress.js';
import { contractVersion, readContract } from './contractDocument.js';
import { failureOf, RETRY_AFTER } from './errors.js';
import { idempotencyOf } from './idempotencyKey.js';
import { buildMatcher, type Match } from './matcher.js';
import { limitHeaders, limitsOf } from './limits.js';
import type { Head } from './parameters.js';
import { planOf, type Plan, type Run } from './plan.js';
import { requestAudit, type ValidatedRequest } from './requestAudit.js';
import { sampled, type Answer } from './responseCheck.js';
import type { Locals, Request, Response } from './route.js';
import { behaviorOf, sandboxBehavior } from './sandboxBehavior.js';
import { bearerAuthentication, requirePermissions, type Authenticated } from './security.js';
import { openShares } from './shares.js';
import { schemaCompiler } from './validators.js';

export interface Backend {
  /** Which operation of the contract a request means. */
  match(method: string, path: string): Match<Plan>;
  /** Of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends the response, or rejects with what `http/errors.ts` translates. */
  answer(plan: Plan, head: Head, req: Request, res: Response): Promise<void>;
}

/**
 * Answers requests as the contract says: authenticate, count, authorise, read, validate, run, check, send. What can be
 * known before a request comes is in the plan of its operation.
 * @param protective headers that every response has besides those of the contract
 */
export function createBackend(
  plans: readonly Plan[],
  services: Services,
  protective: Readonly<Record<string, string>>,
): Backend {
  const common = { ...protective, 'API-Version': contractVersion(), 'Cache-Control': 'no-store' };
  const { authenticate, forget } = bearerAuthentication();
  const { validateResponses, databasePoolSize } = services.config;
  const shares = openShares(databasePoolSize);
  const behave = sandboxBehavior();
  const routeOf = ({ method, path }: Plan) => ({ method: method.toUpperCase(), path });
  const routes = new Map<string, ReturnType<typeof routeOf>>(plans.map((plan) => [plan.operationId, routeOf(plan)]));
  const sampleFiles = { download: withSampleFiles(services.download) };

  /** What a secured operation gets. A sandbox has its own time, and sample files. */
  const securedContext = (
    context: PublicContext,
    { caller, clockOffsetMs }: Authenticated,
    ofRequest: Pick<Context, 'idempotency' | 'aside'>,
  ): Context => {
    const live = withMembers(context, { caller, routes, realNow: context.now, ...ofRequest });
    return caller.tenantMode === 'live' ? live : inTenantTime(withMembers(live, sampleFiles), clockOffsetMs);
  };

  /** @param request gets what has been validated */
  const run = async (
    plan: Plan,
    head: Head,
    req: Request,
    res: Response,
    context: PublicContext,
    request: ValidatedRequest,
  ): Promise<Answer> => {
    const authenticated = plan.permissions && (await authenticate(context));
    const caller = authenticated?.caller;
    res.locals.caller = caller;
    if (plan.permissions && authenticated) {
      await countCall(context, plan.limit, authenticated);
      requirePermissions(authenticated.caller, plan.permissions);
    }
    const behavior = caller && behaviorOf(head.headers, caller, plan);
    Object.assign(request, plan.readParameters(head));
    // 401, 429 and 403 go before 400 and 413: not a byte of the body is read for a caller who may not send it.
    const body = plan.mediaTypes ? await readBody(req, res, plan.mediaTypes) : undefined;
    plan.checkBody(body);
    request.body = body;
    const key = plan.takesKey ? idempotencyOf(plan.operationId, head, body) : null;
    if (caller && behavior) await behave(behavior, caller, res.locals);
    const result = await (authenticated
      ? shares
          .run(authenticated.caller, (aside) =>
            plan.run(request, securedContext(context, authenticated, { idempotency: key, aside })),
          )
          .finally(() => plan.mayMoveClock && forget(authenticated.caller.tenantId))
      : plan.run(request, context));
    if (validateResponses) plan.checkResponse(result);
    else if (caller?.tenantMode === 'sandbox') plan.checkResponse(sampled(result));
    return result;
  };

  /** The response leaves after the audit's row of it is committed, and each request has one row. */
  const answer = async (plan: Plan, head: Head, req: Request, res: Response): Promise<void> => {
    const { locals } = res;
    locals.route = plan;
    const audit = requestAudit(plan, plan.audit, services, req, locals.requestId);
    const recorded = async (response: Parameters<typeof audit.rowOf>[0]): Promise<void> => {
      if (plan.audit && audit.clientId !== null && !audit.isCommitted)
        await services.auditLog.record(audit.rowOf(response));
    };
    const context = publicContext(services, req, locals, audit);
    const result = await run(plan, head, req, res, context, audit.request).catch(async (error: unknown) => {
      const failure = failureOf(plan.operationId, error);
      const recording = recorded(failure);
      // Nothing was read, and to wait for the database once more would make the response late.
      if (failure.status === 503) recording.catch(() => undefined);
      else await recording;
      throw error;
    });
    await recorded(result);
    send(res, common, result);
  };
  return { match: buildMatcher(plans), headers: common, answer };
}

/** Fails the start when an operation of the contract has no code, or the other way round (strict mode). */
export async function plansOf(operations: Operations): Promise<Plan[]> {
  const api = new OpenAPIBackend({
    definition: readContract(),
    // Its own check of the document knows OpenAPI 3.0 only (ours is checked by `make lint`), and what is compiled when it
    // is first used does not delay a start.
    quick: true,
    strict: true,
    coerceTypes: true,
    ajvOpts: { allErrors: true },
    customizeAjv: schemaCompiler,
  });
  await api.init();
  const all = api.getOperations();
  // It would list them anew for each look-up by id.
  api.router.getOperations = () => all;
  // The one cast: from here on `Operations` guarantees what each operation gets and gives.
  const handlers = new Map(Object.entries(operations) as [OperationId, Run][]);
  for (const [operationId, run] of handlers) api.register<Run>(operationId, run);
  return all.map((operation) => {
    const run = handlers.get(operation.operationId as OperationId);
    if (!run) throw new Error(`no code for ${operation.operationId}`);
    return planOf(api, operation, run);
  });
}

/** The services are the prototype: a copy of them would cost more than most of what a request does. */
function publicContext(services: Services, req: Request, locals: Locals, audit: RequestAudit): PublicContext {
  const { requestId } = locals;
  const { authorization } = req.headers;
  const requestLimits = limitsOf(services.limits, locals, () => callerAddress(req, services.config.trustedProxies));
  return Object.assign(Object.create(services) as Services, { requestId, authorization, audit, requestLimits });
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

function send(res: Response, common: Readonly<Record<string, string>>, { status, headers, body }: Answer): void {
  const { locals } = res;
  const all: Record<string, string | number> = { 'X-Request-Id': locals.requestId, ...common, ...limitHeaders(locals) };
  if (status === 503) all['Retry-After'] = RETRY_AFTER;
  if (headers) Object.assign(all, headers);
  const isPdf = body instanceof Uint8Array;
  const sent = isPdf ? body : status === 204 ? '' : JSON.stringify(body);
  if (sent !== '') {
    all['Content-Type'] = isPdf ? 'application/pdf' : 'application/json; charset=utf-8';
    all['Content-Length'] = Buffer.byteLength(sent);
  }
  res.writeHead(status, all).end(sent);
}
