import type { Operation } from 'openapi-backend';

/** What is known of a request that the audit may take ids from. */
interface AuditedParts {
  readonly path: object;
  readonly query: object;
  readonly body: unknown;
  readonly response: unknown;
}

/** What the audit says of the requests of an operation: the contract's `x-audit`, made ready. */
export interface AuditRule {
  readonly resource: string;
  idOf(parts: AuditedParts): string | null;
  patientOf(parts: AuditedParts): string | null;
  reviewerOf(parts: AuditedParts): string | null;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PLACE = /^(path|query|body|response)(\.\w+)+$/;

/** @throws Error when a secured operation of the contract does not say what it concerns */
export function auditRule({ operationId = '', security = [], ...operation }: Operation): AuditRule | null {
  const declared: unknown = 'x-audit' in operation ? operation['x-audit'] : undefined;
  if (declared === undefined && security.length === 0) return null;
  const { resource, id, patient, reviewer } = Object(declared) as Readonly<Record<string, unknown>>;
  if (typeof resource !== 'string') throw new Error(`${operationId} has no x-audit with its resource`);
  const patientAt = finder(operationId, patient);
  return {
    resource,
    idOf: finder(operationId, id),
    reviewerOf: finder(operationId, reviewer),
    patientOf(parts) {
      const found = patientAt(parts);
      return found !== null && UUID.test(found) ? found : null;
    },
  };
}

function finder(operationId: string, place: unknown): (parts: AuditedParts) => string | null {
  if (place === undefined) return () => null;
  if (typeof place !== 'string' || !PLACE.test(place))
    throw new Error(`${operationId} has an x-audit of no known form`);
  const members = place.split('.');
  return (parts) => {
    let value: unknown = parts;
    for (const member of members) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[member];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  };
}
