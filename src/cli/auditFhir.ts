import type { AuditRecord } from '../domain/audit/export.js';

const DICOM = 'http://dicom.nema.org/resources/ontology/DCM';

/** The type of an audit event, in the code systems of FHIR. */
function typeOf({ operator, operationId }: AuditRecord): object {
  if (operator !== null) return { system: DICOM, code: '110100', display: 'Application Activity' };
  if (operationId === 'issueToken') return { system: DICOM, code: '110114', display: 'User Authentication' };
  const system = 'http://terminology.hl7.org/CodeSystem/audit-event-type';
  return { system, code: 'rest', display: 'RESTful Operation' };
}

/** FHIR's codes: success, minor failure (rejected), serious failure (by the service; changes may be stored). */
const outcomes: Readonly<Record<string, string>> = { success: '0', refused: '4', failed: '8', unknown: '8' };

function descriptionOf({ outcome, code, count }: AuditRecord): { outcomeDesc?: string } {
  const parts = [outcome === 'unknown' ? outcome : code, count === null ? null : `${count} requests`];
  const outcomeDesc = parts.filter((part) => part !== null).join(', ');
  return outcomeDesc === '' ? {} : { outcomeDesc };
}

/** An audit row as a FHIR R4 AuditEvent. */
export function fhirAuditEvent(row: AuditRecord): object {
  const { position, at, tenantId, clientId, operator, operationId, patientIds, resourceType, resourceId } = row;
  const identifier = (kind: string, value: string) => ({ system: `urn:clinical-encounter:${kind}`, value });
  const asker = clientId === null ? identifier('link', resourceId ?? 'unknown') : identifier('client', clientId);
  const who = operator === null ? asker : identifier('operator', operator);
  const entities: object[] = patientIds.map((patientId) => ({
    what: { reference: `Patient/${patientId}` },
    type: { system: 'http://terminology.hl7.org/CodeSystem/audit-entity-type', code: '1', display: 'Person' },
    role: { system: 'http://terminology.hl7.org/CodeSystem/object-role', code: '1', display: 'Patient' },
  }));
  if (resourceType !== null && resourceId !== null && resourceType !== 'patient') {
    entities.push({ what: { identifier: identifier(resourceType, resourceId) } });
  }
  return {
    resourceType: 'AuditEvent',
    id: String(position),
    type: typeOf(row),
    subtype: [{ system: 'urn:clinical-encounter:operation', code: operationId.replaceAll(' ', '-') }],
    recorded: at.toISOString(),
    outcome: outcomes[row.outcome],
    ...descriptionOf(row),
    agent: [
      { who: { identifier: who }, requestor: true, ...(row.ip ? { network: { address: row.ip, type: '2' } } : {}) },
    ],
    source: { observer: { identifier: identifier('tenant', tenantId ?? 'none') } },
    ...(entities.length > 0 ? { entity: entities } : {}),
  };
}
