import { Prisma, type AuditEvent, type Patient } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { visiblePatient } from '../access/visibility.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import { positionOf, readScan, type ScannedPage } from '../transactions/positionCursor.js';

type Filter = Input<'listAuditEvents'>['query'];

/**
 * Lists the audit up to the latest checkpoint, before which no row can appear: readers miss none. A limited
 * client sees its own requests, and those of others about its patients, without the other patients of these.
 * @throws Problem cursor_invalid
 */
export async function listAudit({ db, caller }: Context, filter: Filter): Promise<ScannedPage<AuditEvent>> {
  const { tenantId, clientId: own, allowedClinicIds } = caller;
  const { patientId, clientId = null, operationId = null, limit } = filter;
  const owner = `${tenantId}/audit`;
  const start = filter.after === undefined ? 0n : positionOf(filter.after, owner);
  const ofPatient = patientId === undefined ? Prisma.empty : Prisma.sql`AND patient_ids @> ARRAY[${patientId}::uuid]`;
  const subjects = patientId === undefined ? Prisma.sql`"patientIds"` : Prisma.sql`ARRAY[${patientId}::uuid]`;
  const visible = (ids: Prisma.Sql): Prisma.Sql => Prisma.sql`SELECT client.id FROM client
    WHERE client.tenant_id = ${tenantId} AND client.id = ANY (${ids}) AND ${visiblePatient(caller, 'client')}`;
  const isVisible =
    allowedClinicIds === null ? Prisma.empty : Prisma.sql`AND ("clientId" = ${own} OR EXISTS (${visible(subjects)}))`;
  const page = await readScan<AuditEvent>(db.of(tenantId), {
    ...{ owner, start, limit, direction: 'ASC' },
    rows: Prisma.sql`SELECT ${fieldsOf('AuditEvent', 'audit_event')} FROM audit_event
      WHERE tenant_id = ${tenantId} AND position > ${start} ${ofPatient}
        AND position <= (SELECT through FROM audit_seal ORDER BY number DESC LIMIT 1)`,
    isSelective: clientId !== null || operationId !== null || allowedClinicIds !== null,
    isShown: Prisma.sql`(${clientId}::text IS NULL OR "clientId" = ${clientId})
      AND (${operationId}::text IS NULL OR "operationId" = ${operationId}) ${isVisible}`,
  });
  if (allowedClinicIds === null) return page;
  const ids = page.rows.flatMap(({ patientIds }) => patientIds);
  const seen = new Set(
    (await db.of(tenantId).rows<Pick<Patient, 'id'>>(visible(Prisma.sql`${ids}::uuid[]`))).map(({ id }) => id),
  );
  const cut = (row: AuditEvent): AuditEvent =>
    row.clientId === own ? row : { ...row, patientIds: row.patientIds.filter((id) => seen.has(id)) };
  return { ...page, rows: page.rows.map(cut) };
}
