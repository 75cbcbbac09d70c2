import type { components } from '../../generated/client/contract.js';
import type { knownValues } from '../../generated/client/values.js';

export type Problem = components['schemas']['Problem'];

/** The codes of problems, the errors of OAuth, and `unknown` for responses of proxies and the like. */
export type ErrorCode = (typeof knownValues)['ProblemCode' | 'OAuthError.error'][number] | 'unknown';

/** A request that the service rejected, or could not process. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Newer services may send codes that this type lacks. */
  readonly code: ErrorCode;
  /** The page that explains the code. */
  readonly docUrl: string | null;
  /** Seconds until a retry may succeed. */
  readonly retryAfter: number | null;
  /** The request's id, for support. */
  readonly requestId: string | null;
  /** The invalid fields, with reasons. */
  readonly errors: NonNullable<Problem['errors']>;
  readonly body: unknown;
  /** The response, with headers and a readable body. */
  readonly response: Response;

  constructor(response: Response, body: unknown) {
    const { errors, ...said } = (body ?? {}) as { errors?: unknown } & Record<string, string | undefined>;
    const name = said['code'] ?? said['error'] ?? 'unknown';
    const docUrl = said['doc_url'];
    super(said['detail'] ?? said['error_description'] ?? `${response.status} ${name}`);
    this.status = response.status;
    this.code = name as ErrorCode;
    this.docUrl = docUrl && response.url ? new URL(docUrl, response.url).href : null;
    this.retryAfter = retryAfter(response);
    this.requestId = response.headers.get('X-Request-Id');
    this.errors = Array.isArray(errors) ? (errors as NonNullable<Problem['errors']>) : [];
    this.body = body;
    this.response = response;
  }

  static async of(response: Response): Promise<ApiError> {
    const body = response.clone().json();
    return new ApiError(response, await body.catch(() => null));
  }
}

/** Retry-After in seconds; null without one. */
export function retryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('Retry-After') ?? NaN);
  return Number.isFinite(seconds) ? seconds : null;
}
