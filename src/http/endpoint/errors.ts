import type { ErrorRequestHandler, Request, Response } from 'express';
import { isUnavailable, sqlState, UnknownOutcome } from '../../adapters/database/databaseErrors.js';
import type { Services } from '../../context.js';
import type { OperationId } from '../../contract.js';
import { describeCauses } from '../../failures.js';
import { OAuthProblem, oauthStatuses, Problem, problems } from '../../problem.js';
import { callerAddress } from '../listener/callerAddress.js';
import { limitHeaders } from './limits.js';
import { logIdsOf, type Locals } from './route.js';

const REALM = 'realm="clinical-encounter"';
/** Seconds until another try is worth it: what every 503 says. */
export const RETRY_AFTER = 5;
/** As many as a response lists: more would only make the response to a hostile request long. */
export const MAX_FAULTS = 50;

/** The only place that turns a failure into an answer, and the only one that logs failures. */
export function failureHandler({ log, config }: Pick<Services, 'log' | 'config'>): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const { behavior, route } = res.locals as Locals;
    const problem = refusalOf(route?.operationId, error);
    if (problem instanceof Problem && problem !== behavior?.problem && problems[problem.code].status >= 500) {
      const sqlstate = sqlState(problem.cause);
      log.error({ ...logIdsOf(res), code: problem.code, sqlstate, causes: describeCauses(problem) }, 'request failed');
    }
    if (problem instanceof OAuthProblem && problem.error === 'invalid_client') {
      const { clientId } = problem;
      log.warn({ ...logIdsOf(res), clientId, address: callerAddress(req, config.trustedProxies) }, 'login failed');
    }
    if (res.headersSent) return void res.destroy();
    res.set(limitHeaders(res.locals as Locals));
    if (problem instanceof Problem) sendProblem(req, res, problem);
    else sendTokenFailure(req, res, problem);
  };
}

/** The problem that a failure of an operation is answered with. RFC 6749 §5.2 rules the faults of a token request. */
function refusalOf(operationId: OperationId | undefined, error: unknown): Problem | OAuthProblem {
  const problem = problemOf(error);
  const isTokenFault = operationId === 'issueToken' && problem instanceof Problem && isOAuth(problem);
  return isTokenFault ? tokenRequestFault(problem) : problem;
}

interface Failure {
  readonly problem: Problem | OAuthProblem;
  readonly status: number;
  readonly code: string;
  readonly isUnknown?: boolean;
}

/** What a failure of an operation will be answered with, and whether its effect may stand. */
export function failureOf(operationId: OperationId, error: unknown): Failure {
  const problem = refusalOf(operationId, error);
  if (problem instanceof OAuthProblem) return { problem, status: oauthStatuses[problem.error], code: problem.error };
  const { code, cause } = problem;
  return { problem, status: problems[code].status, code, isUnknown: cause instanceof UnknownOutcome };
}

function problemOf(error: unknown): Problem | OAuthProblem {
  if (error instanceof Problem || error instanceof OAuthProblem) return error;
  return new Problem(isUnavailable(error) ? 'dependency_unavailable' : 'internal_error', undefined, { cause: error });
}

/** RFC 9457; the body of R-77. */
export function problemBody(problem: Problem, requestId: string): Record<string, unknown> {
  const { status, title } = problems[problem.code];
  const { errors, message } = problem;
  return {
    type: `urn:clinical-encounter:problem:${problem.code}`,
    title,
    status,
    detail: errors.length > MAX_FAULTS ? `${message} Only the first ${MAX_FAULTS} faults are listed.` : message,
    instance: `urn:uuid:${requestId}`,
    code: problem.code,
    doc_url: `/docs#/section/errors/${problem.code}`,
    request_id: requestId,
    ...(errors.length > 0 ? { errors: errors.slice(0, MAX_FAULTS) } : {}),
    ...problem.extra,
  };
}

function sendProblem(req: Request, res: Response, problem: Problem): void {
  const { status } = problems[problem.code];
  startFailure(req, res, status, problem.code, challengeOf(problem, status));
  const body = JSON.stringify(problemBody(problem, (res.locals as Locals).requestId));
  res.type(mediaType(req)).send(body);
}

function sendTokenFailure(req: Request, res: Response, { error, message, basic }: OAuthProblem): void {
  startFailure(req, res, oauthStatuses[error], error, basic ? `Basic ${REALM}` : undefined);
  res.json({ error, error_description: message });
}

/** What the caller can change. */
const isOAuth = ({ code }: Problem): boolean => problems[code].status === 400 || code === 'rate_limited';

function startFailure(req: Request, res: Response, status: number, code: string, challenge: string | undefined): void {
  const locals = res.locals as Locals;
  locals.code = code;
  if (challenge) res.set('WWW-Authenticate', challenge);
  if (status === 503) res.set('Retry-After', String(RETRY_AFTER));
  if (status === 429) res.set('Retry-After', String(locals.usage?.resetSeconds ?? RETRY_AFTER));
  if (code === 'idempotency_in_progress' || code === 'sandbox_busy') res.set('Retry-After', '1');
  closeUnlessRead(req, res);
  res.status(status);
}

function tokenRequestFault({ code, errors, message }: Problem): OAuthProblem {
  // RFC 6749 has no code of its own for it; this one says that another try is worth it (D-98).
  if (code === 'rate_limited') return new OAuthProblem('temporarily_unavailable', message);
  const [first] = errors;
  if (!first) return new OAuthProblem('invalid_request', message);
  const unsupported = first.pointer === '#/grant_type' && first.code === 'enum';
  // The operation has no parameters: what is not in the body is in the query.
  const inQuery = `The query parameter ${first.parameter ?? ''}`.trim();
  const place = first.pointer === undefined ? inQuery : first.pointer.slice(2) || 'The body';
  // RFC 6749 §5.2 allows neither quotes nor backslashes in a description; a pattern has both.
  const detail = first.code === 'pattern' ? 'has a character that is not allowed' : first.detail;
  return new OAuthProblem(unsupported ? 'unsupported_grant_type' : 'invalid_request', `${place} ${detail}.`);
}

/** RFC 6750 §3: no error attribute when no token was sent, or when the token is not what was wrong. */
function challengeOf({ code, scope }: Problem, status: number): string | undefined {
  if (status === 403) return `Bearer ${REALM}, error="insufficient_scope"${scope ? `, scope="${scope}"` : ''}`;
  if (status !== 401) return undefined;
  const plain = code === 'token_missing' || code === 'patient_access_denied';
  return plain ? `Bearer ${REALM}` : `Bearer ${REALM}, error="invalid_token"`;
}

/** problem+json unless the caller admits only application/json (R-77). */
function mediaType(req: Request): string {
  // What is sent has a charset, and so may what is accepted.
  const admits = (type: string): boolean => req.accepts([type, `${type}; charset=utf-8`]) !== false;
  const onlyJson = !admits('application/problem+json') && admits('application/json');
  return onlyJson ? 'application/json' : 'application/problem+json';
}

/** A body that was refused unread must not keep the connection busy. */
function closeUnlessRead(req: Request, res: Response): void {
  if (!req.readableEnded && (req.get('Transfer-Encoding') ?? Number(req.get('Content-Length') ?? 0) > 0)) {
    res.set('Connection', 'close');
  }
}
