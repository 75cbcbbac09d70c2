import type { ErrorRequestHandler, Request, Response } from 'express';
import { isUnavailable, sqlState, UnknownOutcome } from '../../adapters/database/databaseErrors.js';
import type { Services } from '../../context.js';
import type { OperationId } from '../../contract.js';
import { describeCauses } from '../../failures.js';
import { OAuthProblem, oauthStatuses, Problem, problems } from '../../problem.js';
import { metrics } from '../../telemetry.js';
import { limitHeaders } from './limits.js';
import { addressOf, logIdsOf, type Locals } from './route.js';
import { TenantOverload } from './tenantLimiter.js';

const REALM = 'realm="clinical-encounter"';
/** Value of `Retry-After` for every 503, in seconds. */
export const RETRY_AFTER = 5;
/** Maximum of errors in a response: a hostile request must not cause a long response. */
export const MAX_FIELD_ERRORS = 50;

/** Turns errors into responses, and logs internal errors, overloads, failed logins and why a document was not fetched. */
export function failureHandler({ log, config }: Pick<Services, 'log' | 'config'>): ErrorRequestHandler {
  let overloads = 0;
  let lastWarning = -Infinity;
  /** Counts a refusal because of load, and warns at most once a second: callers could otherwise fill the log. */
  const noteOverload = (res: Response): void => {
    metrics?.limitHits.inc({ limit: 'tenant' });
    overloads += 1;
    if (performance.now() - lastWarning < 1_000) return;
    log.warn({ ...logIdsOf(res), refused: overloads }, 'tenant overloaded');
    lastWarning = performance.now();
    overloads = 0;
  };
  return (error: unknown, req, res, _next) => {
    const { behavior, route } = res.locals as Locals;
    const problem = problemOf(route?.operationId, error);
    if (problem instanceof TenantOverload) noteOverload(res);
    else if (problem instanceof Problem && problem !== behavior?.problem) logFailure(log, logIdsOf(res), problem);
    if (problem instanceof OAuthProblem && problem.error === 'invalid_client') {
      const { clientId } = problem;
      metrics?.failedLogins.inc();
      log.warn({ ...logIdsOf(res), clientId, address: addressOf(req, config) }, 'login failed');
    }
    if (res.headersSent) return void res.destroy();
    res.set(limitHeaders(res.locals as Locals));
    if (problem instanceof Problem) sendProblem(req, res, problem);
    else sendOAuthProblem(req, res, problem);
  };
}

function logFailure(log: Services['log'], ids: object, problem: Problem): void {
  const { code, cause } = problem;
  const reasons = () => ({ ...ids, code, sqlstate: sqlState(cause), causes: describeCauses(problem) });
  if (problems[code].status >= 500) log.error(reasons(), 'request failed');
  // Callers must not learn why, because they could probe the network; the operator can tell them.
  else if (code === 'document_fetch_failed') log.info(reasons(), 'document not fetched');
}

/** The problem that answers an error. Some problems of token requests have the form of RFC 6749 §5.2. */
function problemOf(operationId: OperationId | undefined, error: unknown): Problem | OAuthProblem {
  if (error instanceof OAuthProblem) return error;
  const code = isUnavailable(error) ? 'dependency_unavailable' : 'internal_error';
  const problem = error instanceof Problem ? error : new Problem(code, undefined, { cause: error });
  return operationId === 'issueToken' && isOAuth(problem) ? oauthProblemOf(problem) : problem;
}

interface Failure {
  readonly problem: Problem | OAuthProblem;
  readonly status: number;
  readonly code: string;
  /** The members that the problem's code adds to the response, for the audit. */
  readonly body?: object;
  readonly isUnknown?: boolean;
}

/** The problem, status and code for an operation's error. `isUnknown`: its changes may have been committed. */
export function failureOf(operationId: OperationId, error: unknown): Failure {
  const problem = problemOf(operationId, error);
  if (problem instanceof OAuthProblem) return { problem, status: oauthStatuses[problem.error], code: problem.error };
  const { code, cause, extra: body } = problem;
  return { problem, status: problems[code].status, code, body, isUnknown: cause instanceof UnknownOutcome };
}

/** The body of a problem (RFC 9457, R-77). */
export function problemBody(problem: Problem, requestId: string): Record<string, unknown> {
  const { status, title } = problems[problem.code];
  const { errors, message } = problem;
  return {
    type: `urn:clinical-encounter:problem:${problem.code}`,
    title,
    status,
    detail:
      errors.length > MAX_FIELD_ERRORS ? `${message} Only the first ${MAX_FIELD_ERRORS} errors are listed.` : message,
    instance: `urn:uuid:${requestId}`,
    code: problem.code,
    doc_url: `/docs#/section/errors/${problem.code}`,
    request_id: requestId,
    ...(errors.length > 0 ? { errors: errors.slice(0, MAX_FIELD_ERRORS) } : {}),
    ...problem.extra,
  };
}

function sendProblem(req: Request, res: Response, problem: Problem): void {
  const { status } = problems[problem.code];
  startResponse(req, res, status, problem.code, challengeOf(problem, status));
  const body = JSON.stringify(problemBody(problem, (res.locals as Locals).requestId));
  res.type(mediaType(req)).send(body);
}

function sendOAuthProblem(req: Request, res: Response, { error, message, basic }: OAuthProblem): void {
  startResponse(req, res, oauthStatuses[error], error, basic ? `Basic ${REALM}` : undefined);
  res.json({ error, error_description: message });
}

/** Whether a token request gets this problem in the form of RFC 6749: true for 400 and 429 (R-77). */
const isOAuth = ({ code }: Problem): boolean => problems[code].status === 400 || code === 'rate_limited';

function startResponse(req: Request, res: Response, status: number, code: string, challenge: string | undefined): void {
  const locals = res.locals as Locals;
  locals.code = code;
  if (challenge) res.set('WWW-Authenticate', challenge);
  if (status === 503) res.set('Retry-After', String(RETRY_AFTER));
  if (status === 429) res.set('Retry-After', String(locals.usage?.resetSeconds ?? RETRY_AFTER));
  if (code === 'idempotency_in_progress' || code === 'sandbox_busy') res.set('Retry-After', '1');
  closeUnlessRead(req, res);
  res.status(status);
}

function oauthProblemOf({ code, errors, message }: Problem): OAuthProblem {
  // RFC 6749 has no code for rate limits; this code tells the caller to retry (D-98).
  if (code === 'rate_limited') return new OAuthProblem('temporarily_unavailable', message);
  const [first] = errors;
  if (!first) return new OAuthProblem('invalid_request', message);
  const unsupported = first.pointer === '#/grant_type' && first.code === 'enum';
  // The operation has only a body, so an error elsewhere is about a query parameter.
  const inQuery = `The query parameter ${first.parameter ?? ''}`.trim();
  const location = first.pointer === undefined ? inQuery : first.pointer.slice(2) || 'The body';
  return new OAuthProblem(unsupported ? 'unsupported_grant_type' : 'invalid_request', `${location} ${first.detail}.`);
}

/** The challenge for a 401 or 403 (RFC 6750 §3). A 401 that is not about a sent token has no error attribute. */
function challengeOf({ code, scope }: Problem, status: number): string | undefined {
  if (status === 403) return `Bearer ${REALM}, error="insufficient_scope"${scope ? `, scope="${scope}"` : ''}`;
  if (status !== 401) return undefined;
  const plain = code === 'token_missing' || code === 'patient_access_denied';
  return plain ? `Bearer ${REALM}` : `Bearer ${REALM}, error="invalid_token"`;
}

/** The media type of a problem: problem+json, unless the caller accepts application/json but not this. */
function mediaType(req: Request): string {
  // Responses state a charset, so the Accept header may name one, too.
  const admits = (type: string): boolean => req.accepts([type, `${type}; charset=utf-8`]) !== false;
  const onlyJson = !admits('application/problem+json') && admits('application/json');
  return onlyJson ? 'application/json' : 'application/problem+json';
}

/** Closes the connection if the request's body was not read: the rest of the body would keep it busy. */
function closeUnlessRead(req: Request, res: Response): void {
  if (!req.readableEnded && (req.get('Transfer-Encoding') ?? Number(req.get('Content-Length') ?? 0) > 0)) {
    res.set('Connection', 'close');
  }
}
