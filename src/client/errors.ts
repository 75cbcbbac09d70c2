import type { components } from '../../generated/client/contract.js';
import type { knownValues } from '../../generated/client/values.js';

export type Problem = components['schemas']['Problem'];

/** The codes of problems, the errors of OAuth, and `unknown` for responses of proxies and the like. */
export type ErrorCode = (typeof knownValues)['ProblemCode' | 'OAuthError.error'][number] | 'unknown';

const FOREIGN =
  'not an error of the service, or cut off. See that the service runs, and check its address and the proxies between. Before you repeat a change, see whether it was made.';
const UNCHANGED =
  '304: the record has not changed since the response whose ETag you sent as If-None-Match; use that one.';

/** A request that the service rejected, or could not process. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** Newer services may send codes that this type lacks. */
  readonly code: ErrorCode;
  /** The page that explains the code. */
  readonly docUrl: string | null;
  /** Seconds until a retry may succeed. */
  readonly retryAfter: number | null;
  /** The request's id, for support. */
  readonly requestId: string | null;
  /** The errors in the request, with place and reason; empty if none has a place. */
  readonly errors: NonNullable<Problem['errors']>;
  /** Of `patient_email_taken`: the patient with this e-mail; null if your client may not read that patient. */
  readonly existing_user_id: string | null;
  /** Of `patients.create`, beside `existing_user_id`: the fields of the request that match that patient. */
  readonly agrees: readonly string[] | null;
  /** The compared fields that do not match. Families share e-mail addresses: compare before you use the patient. */
  readonly differs: readonly string[] | null;
  readonly body: unknown;
  /** The response, with headers and a readable body. */
  readonly response: Response;

  constructor(response: Response, body: unknown) {
    const said = (body ?? {}) as Partial<Problem> & { readonly error?: string; readonly error_description?: string };
    const name = said.code ?? said.error ?? 'unknown';
    const other = response.status === 304 ? UNCHANGED : `${response.status} ${name}: ${FOREIGN}`;
    super(said.detail ?? said.error_description ?? other);
    this.status = response.status;
    this.code = name as ErrorCode;
    this.docUrl = said.doc_url && response.url ? new URL(said.doc_url, response.url).href : null;
    this.retryAfter = retryAfter(response);
    this.requestId = response.headers.get('X-Request-Id');
    this.errors = said.errors ?? [];
    this.existing_user_id = said.existing_user_id ?? null;
    this.agrees = said.agrees ?? null;
    this.differs = said.differs ?? null;
    this.body = body;
    this.response = response;
  }

  static async of(response: Response): Promise<ApiError> {
    const body = response.clone().json();
    return new ApiError(response, await body.catch(() => null));
  }
}

/** Retry-After in seconds; null if it is missing or not a number. */
export function retryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('Retry-After') ?? NaN);
  return Number.isFinite(seconds) ? seconds : null;
}
