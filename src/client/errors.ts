import type { components } from '../../generated/client/contract.js';
import type { knownValues } from '../../generated/client/values.js';

export type Problem = components['schemas']['Problem'];

/** The codes of problems, the errors of OAuth, and `unknown` when something between you and the service responded. */
export type ErrorCode = (typeof knownValues)['ProblemCode' | 'OAuthError.error'][number] | 'unknown';

/** What the service refused, or could not do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** A newer service may send codes that are not in this type. */
  readonly code: ErrorCode;
  /** The page that explains the code. */
  readonly docUrl: string | null;
  /** Seconds after which the request may succeed. */
  readonly retryAfter: number | null;
  /** Name it to support. */
  readonly requestId: string | null;
  /** Which fields are at fault, and why. */
  readonly errors: NonNullable<Problem['errors']>;
  /** The whole body. */
  readonly body: unknown;
  /** With its headers; its body can be read. */
  readonly response: Response;

  constructor(response: Response, body: unknown) {
    // A problem, an error of OAuth, or anything else.
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

  /** Reads what came instead of a success. */
  static async of(response: Response): Promise<ApiError> {
    return new ApiError(
      response,
      await response
        .clone()
        .json()
        .catch(() => null),
    );
  }
}

/** Seconds after which a request may be sent again, if the response says so. */
export function retryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('Retry-After') ?? NaN);
  return Number.isFinite(seconds) ? seconds : null;
}
