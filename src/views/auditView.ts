import type { AuditEvent } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';

/** A row of the audit as its tenant reads it. */
export function auditView(row: AuditEvent): Schemas['AuditEvent'] {
  const {
    at,
    clientId,
    operationId,
    resourceType,
    resourceId,
    patientId,
    status,
    code,
    requestId,
    ip,
    outcome,
    reviewerRef,
  } = row;
  return {
    at: at.toISOString(),
    clientId,
    operationId,
    resourceType: resourceType as Schemas['AuditEvent']['resourceType'],
    resourceId,
    patientId,
    status,
    code,
    requestId,
    ip,
    outcome: outcome as Schemas['AuditEvent']['outcome'],
    reviewerRef,
  };
}
