import type { AuditEvent } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { ownRequests } from '../access/limits.js';
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
 * Lists the audit up to the latest checkpoint, so that no row that a reader has seen can change unnoticed. A
 * limited client sees only its own requests.
 * @throws Problem cursor_invalid
 */
export async function listAudit(context: Context, filter: Filter): Promise<ScannedPage<AuditEvent>> {
  const { db, caller } = context;
  const { tenantId } = caller;
  const { cursor, limit, patientId, ...wanted } = filter;
  const owner = `${tenantId}/audit`;
  const start = cursor === undefined ? 0n : positionOf(cursor, owner);
  const ofPatient = patientId === undefined ? {} : { patientIds: { has: canonicalUuid(patientId) } };
  const [asked, seen] = [filterOf<AuditEvent>(wanted), filterOf<AuditEvent>(ownRequests(caller))];
  const most = asked.isSelective || seen.isSelective ? MAX_SCANNED : limit + 1;
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
  const found = scanned.filter((row) => asked.matches(row) && seen.matches(row));
  return scannedPage(owner, extentOf(scanned, most), found, limit, start);
}
