import { readFileSync } from 'node:fs';
import type { OAuthErrorCode, ProblemCode } from './contract.js';
import { packageRoot } from './packageRoot.js';

/** One error in a request: its location and the violated rule, never the value, which may be health data. */
export interface FieldError {
  /** JSON pointer into the body, as a URI fragment: `#/treatmentIds/1`. */
  readonly pointer?: string;
  readonly parameter?: string;
  readonly code: string;
  readonly detail: string;
  /** Why a treatment is not permitted, or what a provider lacks. */
  readonly reason?: 'minimum_age' | 'synchronous_only' | 'dea_required';
}

/** A sentence about the first invalid field of a request, and the number of further ones. */
function summaryOf(code: ProblemCode, [first, ...more]: readonly FieldError[] = []): string | undefined {
  if (code !== 'validation_failed' || !first) return undefined;
  const place = first.parameter ?? (first.pointer === undefined ? 'the query' : first.pointer.slice(2) || 'the body');
  return `${place}: ${first.detail}${more.length > 0 ? ` (${more.length} more)` : ''}.`;
}

interface ProblemOptions {
  readonly errors?: readonly FieldError[];
  readonly cause?: unknown;
  /** Further members of the body, such as `existing_user_id` (R-238) and `current_status`. */
  readonly extra?: Readonly<Record<string, string | readonly string[]>>;
  /** The permissions that the token lacks, for the challenge of RFC 6750 §3. */
  readonly scope?: string;
}

/** An error that the caller sees. The domain throws it with a code; the table below has the status of each code. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  readonly extra: Readonly<Record<string, string | readonly string[]>>;
  readonly scope: string | undefined;

  constructor(code: ProblemCode, detail?: string, options: ProblemOptions = {}) {
    super(detail ?? summaryOf(code, options.errors) ?? problems[code].detail, { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.errors = options.errors ?? [];
    this.extra = options.extra ?? {};
    this.scope = options.scope;
  }
}

/** The problem of a request that the record's current status does not allow; the body names that status. */
export function invalidState(current_status: string, detail?: string): Problem {
  return new Problem('invalid_state', detail, { extra: { current_status } });
}

/** A problem of one member of the body. @param rule the violated rule; by default the problem's code */
export function fieldProblem(code: ProblemCode, pointer: string, detail: string, rule: string = code): Problem {
  return new Problem(code, undefined, { errors: [{ pointer, code: rule, detail }] });
}

interface ProblemType {
  readonly status: number;
  /** The same for every problem of this code (RFC 9457 §3.1.3). */
  readonly title: string;
  readonly detail: string;
}

/** Every code with its status (R-77), as openapi/problems.yaml has them. */
export const problems = JSON.parse(readFileSync(new URL('generated/problems.json', packageRoot), 'utf8')) as Readonly<
  Record<ProblemCode, ProblemType>
>;

/** An error of the token endpoint, in the form of RFC 6749 §5.2. */
export class OAuthProblem extends Error {
  readonly error: OAuthErrorCode;
  /** Whether authentication by HTTP Basic failed; then the response needs a challenge. */
  readonly basic: boolean;
  /** The client id of a failed login, for the log; undefined if not shaped like one, because callers can send any text. */
  readonly clientId: string | undefined;

  constructor(error: OAuthErrorCode, description: string, basic = false, clientId?: string) {
    super(description);
    this.name = 'OAuthProblem';
    this.error = error;
    this.basic = basic;
    this.clientId = clientId;
  }
}

/** Statuses of RFC 6749 §5.2; a refused refresh token is 401, a request over the limit 429 (D-98). */
export const oauthStatuses = {
  invalid_request: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  invalid_client: 401,
  invalid_grant: 401,
  temporarily_unavailable: 429,
} satisfies Record<OAuthErrorCode, number>;
