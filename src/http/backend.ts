import type { Request as HttpRequest, Response as HttpResponse } from 'express';
import {
  OpenAPIBackend,
  type Context as MatchedRequest,
  type Operation as ContractOperation,
  type Request as PlainHttpRequest,
} from 'openapi-backend';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { Caller, Context, PublicContext, Services } from '../context.js';
import type { OperationId } from '../contract.js';
import type { Operations } from '../operations/operation.js';
import { Problem } from '../problem.js';
import { clockOffset } from '../domain/sandbox/clock.js';
import { withSampleFiles } from '../domain/sandbox/sampleFiles.js';
import { inTenantTime } from '../domain/transactions/transaction.js';
import { readBody } from './body.js';
import { readContract } from './contractDocument.js';
import { RETRY_AFTER } from './errors.js';
import { idempotencyOf } from './idempotencyKey.js';
import { requireDigits } from './integerParameters.js';
import { buildMatcher } from './matcher.js';
import { requestIdOf } from './requestId.js';
import { assertResponse, type Answer } from './responseCheck.js';
import { setRoute } from './route.js';
import { bearerAuthentication } from './security.js';
import { refuseFaultyHead, validationProblem } from './validationFaults.js';
import { schemaCompiler } from './validators.js';

/** Its own check of the document knows OpenAPI 3.0 only; ours is checked by `make lint`. */
class ContractBackend extends OpenAPIBackend {
  override validateDefinition() {
    return this.document;
  }
}

/** One request on its way: what openapi-backend hands through to every handler. */
interface Exchange {
  readonly req: HttpRequest;
  readonly res: HttpResponse;
  readonly plain: PlainRequest;
  readonly context: PublicContext;
}

/** Express's request loses its getters when openapi-backend copies it; the body is added after security. */
type PlainRequest = PlainHttpRequest & { readonly operation: ContractOperation };

type AnyOperation = (input: object, context: PublicContext | Context) => Promise<Answer>;

export interface Backend {
  /** The contract's version. */
  readonly version: string;
  /** Answers, or rejects with what `http/errors.ts` translates. */
  handle(req: HttpRequest, res: HttpResponse): Promise<void>;
}

/** Answers requests as the contract says: match, authenticate, authorise, read, validate, run, check, send. */
export async function createBackend(operations: Operations, services: Services): Promise<Backend> {
  const api = new ContractBackend({
    definition: readContract(),
    strict: true,
    coerceTypes: true,
    ajvOpts: { allErrors: true },
    customizeAjv: schemaCompiler,
    securityHandlers: { oauth2: securityHandler() },
    handlers: {
      postSecurityHandler: readBodyOnceAllowed,
      unauthorizedHandler: refuse,
      validationFail: ({ validation }: MatchedRequest) => {
        throw validationProblem(validation.errors ?? []);
      },
    },
  });
  await api.init();
  registerOperations(api, operations, services.config.validateResponses);
  const match = buildMatcher(api.getOperations());
  api.router.matchOperation = (plain: PlainRequest) => plain.operation;

  const handle = async (req: HttpRequest, res: HttpResponse): Promise<void> => {
    const path = decodablePath(req.path);
    const found = match(req.method, path);
    if (found === 'unknown_path') throw new Problem('route_not_found');
    if ('allow' in found) {
      res.set('Allow', found.allow);
      throw new Problem('method_not_allowed');
    }
    setRoute(res, { operationId: found.operationId as OperationId, path: found.path });
    const plain = {
      method: req.method,
      path,
      headers: req.headers,
      query: req.query,
      operation: found,
    } as PlainRequest;
    const context = { ...services, requestId: requestIdOf(res), authorization: req.get('Authorization') };
    await api.handleRequest(plain, { req, res, plain, context } satisfies Exchange);
  };
  return { version: api.document.info.version, handle };
}

/** Fails the start when an operation of the contract has no code, or the other way round (strict mode). */
function registerOperations(api: ContractBackend, operations: Operations, checkAll: boolean): void {
  // The one cast: from here on `Operations` guarantees what each operation gets and gives.
  for (const [operationId, run] of Object.entries(operations) as [OperationId, AnyOperation][]) {
    api.register(operationId, async (matched: MatchedRequest, exchange: Exchange) => {
      const { res, context } = exchange;
      const caller = callerOf(res);
      const input = inputOf(matched);
      const answer = await run(input, caller ? await securedContext(matched, exchange, caller) : context);
      if (checkAll || caller?.tenantMode === 'sandbox') assertResponse(api, matched.operation, answer);
      send(res, answer);
    });
  }
  const missing = api.getOperations().filter(({ operationId = '' }) => !(operationId in operations));
  if (missing.length > 0) throw new Error(`no code for ${missing.map(({ operationId }) => operationId).join(', ')}`);
}

/** What a secured operation gets. A sandbox has its own time, and sample files. */
async function securedContext(
  { operation, request }: MatchedRequest,
  { plain, context }: Exchange,
  caller: Caller,
): Promise<Context> {
  const { headers, path } = plain;
  const idempotency = idempotencyOf(operation, { headers, path, body: request.requestBody });
  const live = { ...context, caller, realNow: context.now, idempotency };
  if (caller.tenantMode === 'live') return live;
  const sandbox = { ...live, download: withSampleFiles(context.download) };
  return inTenantTime(sandbox, await clockOffset(context, caller.tenantId));
}

function securityHandler() {
  const authenticate = bearerAuthentication();
  return async ({ operation }: MatchedRequest, { context, res }: Exchange): Promise<true> => {
    const required = (operation.security ?? []).map((requirement) => Object.values(requirement).flat());
    res.locals['caller'] = await authenticate(context, required);
    return true;
  };
}

/** openapi-backend keeps what the security handler threw; it is the refusal. */
function refuse({ security }: MatchedRequest): never {
  const { oauth2 } = security as { oauth2?: { error?: Error } };
  throw oauth2?.error ?? new Problem('token_invalid');
}

/** 401 and 403 go before 400 and 413: not a byte of the body is read for a caller who may not send it. */
async function readBodyOnceAllowed(matched: MatchedRequest, { req, res, plain }: Exchange): Promise<void> {
  const { requestBody, security = [] } = matched.operation as ContractOperation<OpenAPIV3_1.Document>;
  if (security.length > 0 && !matched.security['authorized']) refuse(matched);
  requireDigits(matched.operation, matched.request);
  if (requestBody && 'content' in requestBody) {
    refuseFaultyHead(matched, plain);
    plain.body = await readBody(req, res, Object.keys(requestBody.content));
  }
}

/** After validation openapi-backend reads the path's parameters from the URL again, as text; these are the coerced ones. */
function inputOf({ request, validation }: MatchedRequest<unknown, unknown, unknown>): object {
  const { params = request.params } = (validation.coerced ?? {}) as { params?: unknown };
  return { path: params, query: request.query, body: request.requestBody };
}

function send(res: HttpResponse, { status, headers, body }: Answer): void {
  if (status === 503) res.set('Retry-After', String(RETRY_AFTER));
  res.status(status).set(headers ?? {});
  if (status === 204) res.end();
  else res.json(body);
}

const callerOf = (res: HttpResponse): Caller | undefined => res.locals['caller'] as Caller | undefined;

/** A path with malformed percent-encoding stays undecodable for libraries; as text it fails its parameter's schema. */
function decodablePath(path: string): string {
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    return path.replaceAll('%', '%25');
  }
}
