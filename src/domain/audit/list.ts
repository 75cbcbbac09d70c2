import { Prisma, type AuditEvent } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { visiblePatient } from '../access/visibility.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import {
  MAX_SCANNED,
  positionOf,
  scannedPage,
  type Scanned,
  type ScannedPage,
} from '../transactions/positionCursor.js';

type Filter = Input<'listAuditEvents'>['query'];
type Row = Scanned & (AuditEvent | { readonly position: null });

/**
 * The audit up to the latest checkpoint, before which no row can appear: readers miss none. A limited client sees
 * its own requests and those about its patients. @throws Problem cursor_invalid
 */
export async function listAudit(context: Context, filter: Filter): Promise<ScannedPage<AuditEvent>> {
  const owner = `${context.caller.tenantId}/audit`;
  const after = filter.after === undefined ? 0n : positionOf(filter.after, owner);
  const rows = await scan(context, filter, after);
  const [frame] = rows;
  if (!frame) throw new Error('an aggregate returned no row');
  const found = rows.filter((row) => row.position !== null);
  return scannedPage(owner, frame, found, filter.limit, after);
}

function scan({ db, caller }: Context, filter: Filter, after: bigint): Promise<Row[]> {
  const { tenantId, clientId: own, allowedClinicIds } = caller;
  const { patientId, clientId = null, operationId = null, limit } = filter;
  const isSelective = clientId !== null || operationId !== null || allowedClinicIds !== null;
  const ofPatient = patientId === undefined ? Prisma.empty : Prisma.sql`AND patient_id = ${patientId}::uuid`;
  const isVisible =
    allowedClinicIds === null
      ? Prisma.empty
      : Prisma.sql`AND ("clientId" = ${own} OR EXISTS (SELECT FROM client WHERE client.tenant_id = ${tenantId}
          AND client.id = "patientId" AND ${visiblePatient(caller, 'client')}))`;
  return db.of(tenantId).rows<Row>`
    WITH scanned AS (
      SELECT ${fieldsOf('AuditEvent', 'audit_event')} FROM audit_event
      WHERE tenant_id = ${tenantId} AND position > ${after} ${ofPatient}
        AND position <= (SELECT through FROM audit_seal ORDER BY number DESC LIMIT 1)
      ORDER BY position LIMIT ${isSelective ? MAX_SCANNED : limit + 1}
    ), found AS (
      SELECT * FROM scanned
      WHERE (${clientId}::text IS NULL OR "clientId" = ${clientId})
        AND (${operationId}::text IS NULL OR "operationId" = ${operationId}) ${isVisible}
      ORDER BY position LIMIT ${limit + 1}
    )
    SELECT frame.*, found.*
    FROM (SELECT count(*)::int AS scanned, max(position) AS "end" FROM scanned) AS frame
    LEFT JOIN found ON true ORDER BY found.position`;
}
