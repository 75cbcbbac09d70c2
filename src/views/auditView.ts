import type { AuditEvent } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';

export function auditView(row: AuditEvent): Schemas['AuditEvent'] {
  return {
    at: row.at.toISOString(),
    clientId: row.clientId,
    operationId: row.operationId,
    resourceType: row.resourceType as Schemas['AuditEvent']['resourceType'],
    resourceId: row.resourceId,
    patientIds: row.patientIds,
    status: row.status,
    code: row.code,
    requestId: row.requestId,
    ip: row.ip,
    outcome: row.outcome as Schemas['AuditEvent']['outcome'],
    reviewerRef: row.reviewerRef,
  };
}
