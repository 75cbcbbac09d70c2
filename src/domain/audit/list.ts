import type { AuditEvent } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { visiblePatients } from '../patients/visibility.js';
import {
  extentOf,
  filterOf,
  MAX_SCANNED,
  positionOf,
  scannedPage,
  type ScannedPage,
} from '../transactions/listCursor.js';
import { canonicalUuid } from '../transactions/uuid.js';

type Filter = Input<'listAuditEvents'>['query'];

/**
 * Lists the audit up to the latest checkpoint: what readers have seen cannot change unnoticed. A limited
 * client sees its own requests, and those of others about its patients, without the other patients of these.
 * @throws Problem cursor_invalid
 */
export async function listAudit(context: Context, filter: Filter): Promise<ScannedPage<AuditEvent>> {
  const { db, caller } = context;
  const { tenantId, allowedClinicIds } = caller;
  const { cursor, limit, patientId: asked, ...wanted } = filter;
  const patientId = asked && canonicalUuid(asked);
  const owner = `${tenantId}/audit`;
  const start = cursor === undefined ? 0n : positionOf(cursor, owner);
  const ofPatient = patientId === undefined ? {} : { patientIds: { has: patientId } };
  const { isSelective, matches } = filterOf<AuditEvent>(wanted);
  const most = isSelective || allowedClinicIds ? MAX_SCANNED : limit + 1;
  const latest = await db.prisma.auditSeal.findFirst({
    where: { tenantId },
    orderBy: { number: 'desc' },
    select: { through: true },
  });
  const scanned = await db.prisma.auditEvent.findMany({
    where: { tenantId, position: { gt: start, lte: latest?.through ?? 0n }, ...ofPatient },
    orderBy: { position: 'asc' },
    take: most,
  });
  const found = scanned.filter(matches);
  return scannedPage(
    owner,
    extentOf(scanned, most),
    allowedClinicIds ? await cut(context, found, patientId) : found,
    limit,
    start,
  );
}

/** The rows that a limited client may see, without other patients. @param subject whom all rows must name */
async function cut({ db, caller }: Context, rows: readonly AuditEvent[], subject?: string): Promise<AuditEvent[]> {
  const isOwn = ({ clientId }: AuditEvent): boolean => clientId === caller.clientId;
  const named = new Set(rows.filter((row) => !isOwn(row)).flatMap(({ patientIds }) => patientIds));
  const where = { ...visiblePatients(caller), id: { in: [...named] } };
  const seen = new Set((await db.prisma.patient.findMany({ where, select: { id: true } })).map(({ id }) => id));
  return rows
    .map((row) => (isOwn(row) ? row : { ...row, patientIds: row.patientIds.filter((id) => seen.has(id)) }))
    .filter(
      (row) => isOwn(row) || (subject === undefined ? row.patientIds.length > 0 : row.patientIds.includes(subject)),
    );
}
