import { Temporal } from 'temporal-polyfill';
import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import { recordEvent } from '../events/record.js';
import { updateRows } from '../transactions/rows.js';
import { forEachTenantClock } from '../transactions/tenantClocks.js';

/** How often a category wants a new review; of the open vocabulary only these values are understood (D-03). */
const rules: ReadonlyMap<string, { readonly months: number; readonly noticeDays: number }> = new Map([
  ['YEARLY', { months: 12, noticeDays: 30 }],
  ['MONTHLY', { months: 1, noticeDays: 5 }],
]);

/**
 * The end of an approval, by calendar months in UTC; a day that its month lacks becomes the last one: 2028-02-29 and a
 * year is 2029-02-28. Null = it does not end: one review is enough, or the rule is not understood (R-48, D-03).
 */
export function approvalEnd(item: Pick<GfeItem, 'reviewOften' | 'reviewRecurring'>, approvedAt: Date): Date | null {
  const rule = rules.get(item.reviewOften);
  if (!item.reviewRecurring || !rule) return null;
  const start = Temporal.Instant.fromEpochMilliseconds(approvedAt.getTime()).toZonedDateTimeISO('UTC');
  return new Date(start.add({ months: rule.months }).epochMilliseconds);
}

/** What a partner is shown: an approval is `expired` from its end on, whether or not anybody has noticed it. */
export function displayedStatus({ status, validUntil }: Pick<GfeItem, 'status' | 'validUntil'>, now: Date) {
  return status === 'approved' && validUntil !== null && validUntil <= now ? 'expired' : status;
}

/** Emits gfe.expiring once per approval (30 or 5 days ahead, R-53); a reused one is reported on the original encounter. */
export const announceExpiringApprovals = announcement('gfe.expiring');

/** Emits gfe.expired once; approvals never announced get only this event. */
export const announceExpiredApprovals = announcement('gfe.expired');

type Notice = 'gfe.expiring' | 'gfe.expired';

type DueItem = Pick<GfeItem, 'tenantId' | 'id' | 'categoryId' | 'subcategoryId'> &
  Pick<Encounter, 'encounterNo' | 'gfeNo' | 'patientId' | 'clinicId'> & { readonly validUntil: Date };

function announcement(notice: Notice) {
  return forEachTenantClock<DueItem>({
    find: ({ db, now }, isTurnOf, limit) => db.everyTenant.rows<DueItem>`
      SELECT i.tenant_id AS "tenantId", i.id, i.category_id AS "categoryId", i.subcategory_id AS "subcategoryId",
        i.valid_until AS "validUntil", e.encounter_no AS "encounterNo", e.gfe_no AS "gfeNo",
        e.patient_id AS "patientId", e.clinic_id AS "clinicId"
      FROM gfe_item i JOIN encounter e ON e.tenant_id = i.tenant_id AND e.id = i.encounter_id
      WHERE i.status = 'approved' AND i.valid_until IS NOT NULL AND i.reused_from_encounter_id IS NULL
        AND i.expired_notified_at IS NULL AND ${due(notice, now())} AND ${isTurnOf('i')}
      ORDER BY i.valid_until LIMIT ${limit} FOR UPDATE OF i SKIP LOCKED`,
    async workOff(context, { tenantId, id, clinicId, patientId, categoryId, subcategoryId, ...item }) {
      const now = context.now();
      const data = notice === 'gfe.expiring' ? { expiringNotifiedAt: now } : { expiredNotifiedAt: now };
      await updateRows(context.db, tenantId, 'GfeItem', data, Prisma.sql`id = ${id}::uuid`);
      recordEvent(context, { tenantId, clinicId }, notice, {
        encounter_id: Number(item.encounterNo),
        gfe_no: item.gfeNo,
        patientId,
        categoryId,
        subcategoryId,
        validUntil: item.validUntil.toISOString(),
      });
    },
  });
}

/** The bounds on valid_until are plain ones, for its index. */
function due(notice: Notice, now: Date): Prisma.Sql {
  if (notice === 'gfe.expired') return Prisma.sql`i.valid_until <= ${now}`;
  const windows = [...rules].map(
    ([reviewOften, { noticeDays }]) =>
      Prisma.sql`(i.review_often = ${reviewOften} AND i.valid_until <= ${daysAfter(now, noticeDays)})`,
  );
  const longest = Math.max(...[...rules.values()].map(({ noticeDays }) => noticeDays));
  return Prisma.sql`i.expiring_notified_at IS NULL AND i.valid_until > ${now}
    AND i.valid_until <= ${daysAfter(now, longest)} AND (${Prisma.join(windows, ' OR ')})`;
}

const daysAfter = (time: Date, days: number): Date => new Date(time.getTime() + days * 24 * 3_600_000);
