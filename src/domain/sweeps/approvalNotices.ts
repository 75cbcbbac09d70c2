import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import { approvalRules } from '../approvals/approvals.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { updateRows } from '../transactions/rows.js';
import { forEachTenantClock } from './tenantClocks.js';

/**
 * Records gfe.expiring once per approval, 30 or 5 days before its end, for the original decision's encounter.
 */
export const announceExpiringApprovals = announcement('gfe.expiring');

/** Records gfe.expired once per approval, even without an earlier gfe.expiring. */
export const announceExpiredApprovals = announcement('gfe.expired');

type Notice = 'gfe.expiring' | 'gfe.expired';

type DueItem = Pick<GfeItem, 'tenantId' | 'id' | 'categoryId' | 'subcategoryId'> &
  Pick<Encounter, 'encounterNo' | 'gfeNo' | 'reference' | 'patientId' | 'clinicId'> & { readonly validUntil: Date };

function announcement(notice: Notice) {
  return forEachTenantClock<DueItem>({
    find: ({ db, now }, isTurnOf, limit) => db.everyTenant.rows<DueItem>`
      SELECT i.tenant_id AS "tenantId", i.id, i.category_id AS "categoryId", i.subcategory_id AS "subcategoryId",
        i.valid_until AS "validUntil", e.encounter_no AS "encounterNo", e.gfe_no AS "gfeNo",
        e.reference, e.patient_id AS "patientId", e.clinic_id AS "clinicId"
      FROM gfe_item i JOIN encounter e ON e.tenant_id = i.tenant_id AND e.id = i.encounter_id
      WHERE i.status = 'approved' AND i.valid_until IS NOT NULL
        AND i.expired_notified_at IS NULL AND ${due(notice, now())} AND ${isTurnOf('i')}
      ORDER BY i.valid_until LIMIT ${limit} FOR UPDATE OF i SKIP LOCKED`,
    async workOff(context, { tenantId, id, clinicId, patientId, categoryId, subcategoryId, ...item }) {
      const now = context.now();
      const data = notice === 'gfe.expiring' ? { expiringNotifiedAt: now } : { expiredNotifiedAt: now };
      await updateRows(context.db, tenantId, 'GfeItem', data, Prisma.sql`id = ${id}::uuid`);
      recordEvent(context, { tenantId, clinicId }, notice, {
        ...numbersOf(item),
        patientId,
        categoryId,
        subcategoryId,
        validUntil: item.validUntil.toISOString(),
      });
    },
  });
}

/** The condition for approvals whose notice is due. Compares valid_until with constants, so that its index applies. */
function due(notice: Notice, now: Date): Prisma.Sql {
  if (notice === 'gfe.expired') return Prisma.sql`i.valid_until <= ${now}`;
  const windows = [...approvalRules].map(
    ([reviewOften, { noticeDays }]) =>
      Prisma.sql`(i.review_often = ${reviewOften} AND i.valid_until <= ${daysAfter(now, noticeDays)})`,
  );
  const longest = Math.max(...[...approvalRules.values()].map(({ noticeDays }) => noticeDays));
  return Prisma.sql`i.expiring_notified_at IS NULL AND i.valid_until > ${now}
    AND i.valid_until <= ${daysAfter(now, longest)} AND (${Prisma.join(windows, ' OR ')})`;
}

const daysAfter = (time: Date, days: number): Date => new Date(time.getTime() + days * 24 * 3_600_000);
