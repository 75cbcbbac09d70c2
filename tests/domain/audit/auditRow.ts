import { v7 } from 'uuid';
import type { AuditRow } from '../../../src/context.js';

/** The audit row of a successful getPatient, unless changed. */
export function auditRow(changes: Pick<AuditRow, 'at'> & Partial<AuditRow>): AuditRow {
  const caller = { tenantId: 'lakeside', clientId: 'ces_k5xw4zdpnrqw2y3imfzg', operator: null, ip: '2001:db8::1' };
  const resource = { resourceType: 'patient' as const, resourceId: v7(), patientIds: [v7()], reviewerRef: null };
  const result = { status: 200, code: null, outcome: 'success' as const };
  return { operationId: 'getPatient', requestId: v7(), ...caller, ...resource, ...result, ...changes };
}
