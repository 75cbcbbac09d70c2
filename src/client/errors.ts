import type { components } from '../../generated/client/contract.js';

export type Problem = components['schemas']['Problem'];

/** What the service refused, or could not do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** A problem's `code`, an OAuth `error`, or `unknown` when something between you and the service responded. */
  readonly code: string;
  /** Name it to support. */
  readonly requestId: string | null;
  /** Which fields are at fault, and why. */
  readonly errors: NonNullable<Problem['errors']>;
  /** The whole body. */
  readonly body: unknown;

  constructor(response: Response, body: unknown) {
    // A problem, an error of OAuth, or anything else.
    const { errors, ...said } = (body ?? {}) as { errors?: unknown } & Record<string, string | undefined>;
    const name = said['code'] ?? said['error'] ?? 'unknown';
    super(said['detail'] ?? said['error_description'] ?? `${response.status} ${name}`);
    this.status = response.status;
    this.code = name;
    this.requestId = response.headers.get('X-Request-Id');
    this.errors = Array.isArray(errors) ? (errors as NonNullable<Problem['errors']>) : [];
    this.body = body;
  }

  /** Reads what came instead of a success. */
  static async of(response: Response): Promise<ApiError> {
    return new ApiError(response, await response.json().catch(() => null));
  }
}
