import type { OAuthErrorCode, ProblemCode } from './contract.js';

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
  const place = first.parameter ?? (first.pointer?.slice(2) || 'the body');
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

/** An error that the caller sees. Domain code throws it by code; the table below has the statuses. */
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

const invalid = (title: string, detail: string): ProblemType => ({ status: 400, title, detail });
const unauthenticated = (title: string, detail: string): ProblemType => ({ status: 401, title, detail });
const forbidden = (title: string, detail: string): ProblemType => ({ status: 403, title, detail });
const notFound = (resource: string): ProblemType => ({
  status: 404,
  title: `${resource} not found`,
  detail: `There is no such ${resource.toLowerCase()} in your tenant, or your API client may not see it. Check the identifier.`,
});
const conflict = (title: string, detail: string): ProblemType => ({ status: 409, title, detail });

/** Every code with its status (R-77). A code that is missing here or in the contract does not compile. */
export const problems = {
  validation_failed: invalid('Request is not valid', 'The request does not match the contract.'),
  malformed_json: invalid('Malformed JSON', 'The body is not well-formed JSON in UTF-8.'),
  content_type_not_json: invalid('Content type is not JSON', 'Send the body as application/json, not compressed.'),
  identifier_required: invalid('Identifier required', 'Send at least one of encounter_id, gfe_no and order_no.'),
  identifier_mismatch: invalid('Identifiers disagree', 'The identifiers belong to different encounters; send one.'),
  schedule_incomplete: invalid('Schedule incomplete', 'scheduledTime needs a scheduledDay.'),
  schedule_time_zone_required: invalid('Time zone required', 'The clinic has no time zone; send scheduledTimeZone.'),
  schedule_time_zone_unknown: invalid(
    'Time zone unknown',
    'Send an IANA time-zone name such as America/New_York, not an offset or abbreviation.',
  ),
  schedule_time_nonexistent: invalid(
    'Time does not exist',
    'The clocks of that zone skip this local time; send a time that exists on that day.',
  ),
  document_url_invalid: invalid('Document URL is not valid', 'Send an absolute https URL without credentials.'),
  document_url_forbidden: invalid(
    'Document URL is not allowed',
    'The service must not fetch this URL; use a public https URL.',
  ),
  document_fetch_failed: invalid(
    'Document could not be fetched',
    'The host did not deliver the file in time, or at all. Check the URL, then try again.',
  ),
  document_empty: invalid('Document is empty', 'The file at the URL is empty. Send the URL of a complete file.'),
  document_too_large: invalid(
    'Document is too large',
    'The file is larger than its document type allows. Send a smaller one.',
  ),
  document_type_not_allowed: invalid('File type not allowed', 'The file type is not accepted for this document type.'),
  document_type_mismatch: invalid(
    'File type mismatch',
    'The content of the file differs from its Content-Type or file name. Correct the one that is wrong.',
  ),
  document_rejected: invalid('Document rejected', 'A malware scan refused the file; check its origin.'),
  decisions_incomplete: invalid(
    'Decisions incomplete',
    'Send exactly one decision for each item that is pending_review, and a reason for each denial.',
  ),
  visit_required: invalid('Visit required', 'The review is synchronous: send visit with startedAt and endedAt.'),
  idempotency_key_invalid: invalid(
    'Idempotency key is not valid',
    'Send 1 to 255 printable ASCII characters as Idempotency-Key.',
  ),
  idempotency_key_required: invalid('Idempotency key required', 'Send an Idempotency-Key, so that a retry is safe.'),
  idempotency_key_reused: invalid(
    'Idempotency key already used',
    'This Idempotency-Key belongs to a different earlier request; use a new key.',
  ),
  cursor_invalid: invalid(
    'Cursor is not valid',
    'Send next_cursor of an earlier response unchanged, or start without a cursor.',
  ),
  webhook_url_forbidden: invalid(
    'Webhook URL is not allowed',
    'The service must not send to this URL; use a public https URL.',
  ),
  token_missing: unauthenticated('Access token missing', 'Send Authorization: Bearer <access token>.'),
  token_invalid: unauthenticated('Access token not valid', 'Obtain a new access token at /oauth/token.'),
  token_expired: unauthenticated('Access token expired', 'Obtain a new access token at /oauth/token.'),
  client_inactive: unauthenticated('API client not active', 'Ask the operator to activate your API client or tenant.'),
  patient_access_denied: unauthenticated(
    'No access to this patient',
    'Your API client cannot upload documents for this patient, or the patient does not exist. Check the id.',
  ),
  insufficient_permission: forbidden(
    'Insufficient permission',
    'The token lacks a permission. Ask the operator for it, or request a token with a wider scope.',
  ),
  clinic_not_permitted: forbidden(
    'Clinic not permitted',
    'Your API client has no access to this clinic. Use another clinic, or ask the operator for access.',
  ),
  sandbox_only: forbidden('Only in a sandbox', 'This operation needs the credentials of a sandbox tenant.'),
  clinic_not_found: notFound('Clinic'),
  patient_not_found: notFound('Patient'),
  treatment_not_found: notFound('Treatment'),
  document_not_found: notFound('Document'),
  encounter_not_found: notFound('Encounter'),
  order_not_found: notFound('Order'),
  payment_not_found: notFound('Payment'),
  webhook_endpoint_not_found: notFound('Webhook endpoint'),
  delivery_not_found: notFound('Delivery'),
  route_not_found: {
    status: 404,
    title: 'Route not found',
    detail: 'No operation has this path; see /docs.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'The Allow header lists the methods of this path.',
  },
  request_timeout: {
    status: 408,
    title: 'Request too slow',
    detail: 'A request has 10 seconds for its headers and 15 seconds in total. Send it again on a new connection.',
  },
  patient_email_taken: conflict(
    'E-mail already in use',
    'A patient with this e-mail exists in your tenant and was not changed. Compare name and birth date before you use that patient: families share e-mail addresses.',
  ),
  clinic_inactive: conflict('Clinic is inactive', 'Choose a clinic whose isActive is true.'),
  patient_inactive: conflict(
    'Patient is inactive',
    'The account of this patient is not active. Set isActive to true with PATCH /clients/{id} first.',
  ),
  treatment_inactive: conflict('Treatment is inactive', 'Choose products whose isActive is true.'),
  treatment_unavailable_at_clinic: conflict(
    'Treatment not available at this clinic',
    'A product is not offered at this clinic; its clinicAvailability names the clinics.',
  ),
  treatment_not_permitted: conflict(
    'Treatment not permitted',
    'A rule of the treatment excludes this patient or this type of review; see reason of each error.',
  ),
  guardian_required: conflict('Guardian required', 'The patient is under 18: send guardian to updatePatient first.'),
  document_patient_mismatch: conflict(
    'Document of another patient',
    'Send documents of this encounter’s patient only.',
  ),
  document_withdrawn: conflict(
    'Document withdrawn',
    'The document is withdrawn: send another one. The reason of a withdrawal cannot change.',
  ),
  invalid_state: conflict('Not possible in this status', 'The current status does not allow this; see current_status.'),
  claimed_by_other: conflict(
    'Claimed by another provider',
    'Another provider has claimed this encounter. Choose another one, or wait until the claim ends.',
  ),
  chart_changed: conflict(
    'Chart changed',
    'The chart has changed since it was read; see changed. Read it again, then decide.',
  ),
  no_refills_left: conflict('No refills left', 'The prescription allows no further order. Request a new encounter.'),
  facts_changed: conflict('Facts changed', 'Facts about the patient changed after the review: see changed.'),
  provider_not_licensed: conflict(
    'Provider not licensed',
    'This encounter needs an active provider with a valid licence in its US state. The operator can import the licence.',
  ),
  not_due: conflict('Not due yet', 'A scheduled synchronous encounter can be claimed from 15 minutes before its time.'),
  webhook_limit_reached: conflict(
    'Too many webhook endpoints',
    'An API client can have five webhook endpoints. Delete one that you do not need.',
  ),
  too_many_records: conflict(
    'Too many records',
    'The limit is reached: 100 addenda, 100 orders and 20 requests for information an encounter, 200 payments and refunds an order.',
  ),
  sandbox_full: conflict(
    'Sandbox is full',
    'A sandbox has at most 5,000 patients and 5,000 encounters. Reset it to continue.',
  ),
  sandbox_busy: conflict(
    'Sandbox is busy',
    'A reset or clock move of this sandbox is in progress. Retry after the given delay.',
  ),
  approval_ended: conflict(
    'Approval has ended',
    'Lines of the order are held: their approvals have ended; see errors. A new encounter leads to a new order.',
  ),
  ship_to_required: conflict(
    'Address of delivery required',
    'The address of delivery is incomplete; see errors. Set it with PUT /orders/{order_no}/ship-to.',
  ),
  payment_exceeds_balance: conflict('Payment exceeds the balance', 'Send at most the balance_amt of the order.'),
  refund_exceeds_payment: conflict(
    'Refund exceeds the payment',
    'Send at most the part of the payment that is not refunded yet.',
  ),
  idempotency_in_progress: conflict(
    'Same request in progress',
    'A request with this Idempotency-Key is still in progress. Retry after the given delay.',
  ),
  version_conflict: {
    status: 412,
    title: 'Record has changed',
    detail: 'The record has changed since you read it. Read it again, and send the new ETag as If-Match.',
  },
  body_too_large: { status: 413, title: 'Body too large', detail: 'A request body must not exceed 256 KiB.' },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    detail: 'Your API client is over the limit that the header RateLimit-Policy names. Retry after the given delay.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'The service failed. Report the request_id to the operator.',
  },
  dependency_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    detail: 'A part of the service is unavailable. Retry after the given delay.',
  },
} satisfies Record<ProblemCode, ProblemType>;

/** An error of the token endpoint, in the form of RFC 6749 §5.2. */
export class OAuthProblem extends Error {
  readonly error: OAuthErrorCode;
  /** Whether the client used HTTP Basic; then the response needs a challenge. */
  readonly basic: boolean;
  /** The submitted client id, for the log; undefined if it is not shaped like one, because callers can send any text. */
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
