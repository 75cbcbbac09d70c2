import { Prisma, type AuditEvent } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { visiblePatient } from '../access/visibility.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import { positionOf, readScan, type ScannedPage } from '../transactions/positionCursor.js';

type Filter = Input<'listAuditEvents'>['query'];

/**
 * Lists the audit up to the latest checkpoint, before which no row can appear: readers miss none. A limited
 * client sees its own requests and those about its patients. @throws Problem cursor_invalid
 */
export async function listAudit({ db, caller }: Context, filter: Filter): Promise<ScannedPage<AuditEvent>> {
  const { tenantId, clientId: own, allowedClinicIds } = caller;
  const { patientId, clientId = null, operationId = null, limit } = filter;
  const owner = `${tenantId}/audit`;
  const start = filter.after === undefined ? 0n : positionOf(filter.after, owner);
  const ofPatient = patientId === undefined ? Prisma.empty : Prisma.sql`AND patient_id = ${patientId}::uuid`;
  const isVisible =
    allowedClinicIds === null
      ? Prisma.empty
      : Prisma.sql`AND ("clientId" = ${own} OR EXISTS (SELECT FROM client WHERE client.tenant_id = ${tenantId}
          AND client.id = "patientId" AND ${visiblePatient(caller, 'client')}))`;
  return readScan<AuditEvent>(db.of(tenantId), {
    ...{ owner, start, limit, direction: 'ASC' },
    rows: Prisma.sql`SELECT ${fieldsOf('AuditEvent', 'audit_event')} FROM audit_event
      WHERE tenant_id = ${tenantId} AND position > ${start} ${ofPatient}
        AND position <= (SELECT through FROM audit_seal ORDER BY number DESC LIMIT 1)`,
    isSelective: clientId !== null || operationId !== null || allowedClinicIds !== null,
    isShown: Prisma.sql`(${clientId}::text IS NULL OR "clientId" = ${clientId})
      AND (${operationId}::text IS NULL OR "operationId" = ${operationId}) ${isVisible}`,
  });
}
