import type { Operation } from 'openapi-backend';
import type { RequestAudit, Services } from '../../context.js';
import { anyUuid } from '../../domain/transactions/uuid.js';
import { addressOf, type Locals, type Request, type Route } from './route.js';

/** Path, query and body of a request, each set only once it is valid. The audit takes ids from them. */
export interface ValidatedRequest {
  path: object;
  query: object;
  body: unknown;
}

type FindId = (parts: Readonly<ValidatedRequest> & { readonly response: unknown }) => string | null;

/** How the audit records an operation's requests: the contract's `x-audit` as functions. */
export interface AuditRule {
  readonly resource: string;
  readonly idOf: FindId;
  /** The patient whom the request names. */
  readonly patientOf: FindId;
  readonly reviewerOf: FindId;
  /** Whether successful responses can name a patient. If not, they are not searched, because some are long. */
  readonly namesPatients: boolean;
}

/** The names of the contract for the id of a patient. */
const PATIENT_NAMES: ReadonlySet<string> = new Set(['patientId', 'user_id', 'existing_user_id']);
const SCHEMA_OF_PATIENT = new RegExp(`"(${[...PATIENT_NAMES].join('|')})":`);

const LOCATION = /^(path|query|body|response)(\.\w+)+$/;

/** An operation's `x-audit`; null if public and without it. @throws Error if it is invalid, or missing at a secured one */
export function auditRule({ operationId = '', security = [], ...operation }: Operation): AuditRule | null {
  const declared: unknown = 'x-audit' in operation ? operation['x-audit'] : undefined;
  if (declared === undefined && security.length === 0) return null;
  const { resource, id, patient, reviewer } = Object(declared) as Readonly<Record<string, unknown>>;
  if (typeof resource !== 'string')
    throw new Error(`${operationId} needs an x-audit that names its resource: add it in openapi/paths`);
  const patientAt = finder(operationId, patient);
  return {
    resource,
    namesPatients: SCHEMA_OF_PATIENT.test(JSON.stringify(operation.responses)),
    idOf: finder(operationId, id),
    reviewerOf: finder(operationId, reviewer),
    patientOf(parts) {
      const patientId = patientAt(parts);
      return patientId !== null && anyUuid.test(patientId) ? patientId.toLowerCase() : null;
    },
  };
}

function finder(operationId: string, location: unknown): FindId {
  if (location === undefined) return () => null;
  if (typeof location !== 'string' || !LOCATION.test(location))
    throw new Error(`The x-audit of ${operationId} must name values like path.id, not ${JSON.stringify(location)}.`);
  const members = location.split('.');
  return (parts) => {
    let value: unknown = parts;
    for (const member of members) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[member];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  };
}

/** The audit's view of a request, filled in while the request is processed. */
export function requestAudit(
  { operationId, audit: rule }: Route & { readonly audit: AuditRule | null },
  { now, config }: Pick<Services, 'now' | 'config'>,
  req: Request,
  locals: Locals,
): RequestAudit & { readonly request: ValidatedRequest } {
  const request: ValidatedRequest = { path: {}, query: {}, body: undefined };
  return {
    tenantId: null,
    clientId: null,
    patientId: null,
    isRecorded: false,
    request,
    rowOf({ status, code = null, body, isUnknown }) {
      const parts = { response: body, ...request };
      const named = rule?.patientOf(parts) ?? this.patientId;
      const patientIds = new Set(named === null ? [] : [named]);
      if (rule?.namesPatients === true || status >= 400) addPatients(body, patientIds);
      return {
        at: now(),
        tenantId: this.tenantId,
        clientId: this.clientId,
        operator: null,
        operationId,
        resourceType: rule?.resource ?? null,
        resourceId: rule?.idOf(parts) ?? null,
        patientIds: [...patientIds],
        status,
        code,
        requestId: locals.requestId,
        ip: addressOf(req, config),
        outcome: isUnknown ? 'unknown' : status < 400 ? 'success' : status < 500 ? 'refused' : 'failed',
        reviewerRef: rule?.reviewerOf(parts) ?? null,
      };
    },
  };
}

/** Adds the patients whom a response names. Skips metadata, which are the partner's own data. */
function addPatients(value: unknown, ids: Set<string>): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const name in value) {
    const member: unknown = value[name as keyof typeof value];
    if (typeof member === 'string') {
      if (PATIENT_NAMES.has(name)) ids.add(member);
    } else if (name !== 'metadata') addPatients(member, ids);
  }
}
