import type { ExportedRow } from '../domain/audit/export.js';

const DICOM = 'http://dicom.nema.org/resources/ontology/DCM';
const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem';

/** FHIR's codes: 0 = success, 4 = minor failure (refused), 8 = serious failure (failed, or outcome unknown). */
const outcomes: Readonly<Record<string, string>> = { success: '0', refused: '4', failed: '8', unknown: '8' };

/** An audit row as an AuditEvent of FHIR R4. A position is unique only within its tenant, so the id contains both. */
export function fhirAuditEvent(row: ExportedRow): object {
  const { position, at, clientId, operator, operationId, patientIds, resourceType, resourceId, code, ip } = row;
  const tenantId = row.tenantId ?? 'none';
  const description = row.outcome === 'unknown' ? 'unknown' : code;
  const isOther = resourceType !== null && resourceId !== null && resourceType !== 'patient';
  const entities = [
    ...patientIds.map(patientEntity),
    ...(isOther ? [{ what: { identifier: identifier(resourceType, resourceId) } }] : []),
  ];
  return {
    resourceType: 'AuditEvent',
    id: `${tenantId}-${position}`,
    type: typeOf(row),
    subtype: [{ system: 'urn:clinical-encounter:operation', code: operationId.replaceAll(' ', '-') }],
    recorded: at.toISOString(),
    outcome: outcomes[row.outcome],
    ...(description === null ? {} : { outcomeDesc: description }),
    agent: [
      {
        who: {
          identifier: operator === null ? identifier('client', clientId ?? 'none') : identifier('operator', operator),
        },
        requestor: true,
        ...(ip === null ? {} : { network: { address: ip, type: '2' } }),
      },
    ],
    source: { observer: { identifier: identifier('tenant', tenantId) } },
    ...(entities.length > 0 ? { entity: entities } : {}),
  };
}

const identifier = (kind: string, value: string) => ({ system: `urn:clinical-encounter:${kind}`, value });

/** The type of an audit event, in the code systems that FHIR names. */
function typeOf({ operator, operationId }: ExportedRow) {
  if (operator !== null) return { system: DICOM, code: '110100', display: 'Application Activity' };
  if (operationId === 'issueToken') return { system: DICOM, code: '110114', display: 'User Authentication' };
  return { system: `${TERMINOLOGY}/audit-event-type`, code: 'rest', display: 'RESTful Operation' };
}

const patientEntity = (patientId: string) => ({
  what: { reference: `Patient/${patientId}` },
  type: { system: `${TERMINOLOGY}/audit-entity-type`, code: '1', display: 'Person' },
  role: { system: `${TERMINOLOGY}/object-role`, code: '1', display: 'Patient' },
});
