import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import type { TransactionContext } from '../transactions/transaction.js';
import { forEachTenantClock } from './tenantClocks.js';

/** Days from a notice to the end of the approval. */
const NOTICE_DAYS = { monthly: 5, others: 30 };

/** Records gfe.expiring once per approved item, 30 days (with `MONTHLY` 5 days) before its end. */
export const announceExpiringApprovals = announcement('gfe.expiring');

/** Records gfe.expired once per approved item after its end, even without an earlier gfe.expiring. */
export const announceExpiredApprovals = announcement('gfe.expired');

type Notice = 'gfe.expiring' | 'gfe.expired';

type NotifiedItem = Pick<GfeItem, 'categoryId' | 'subcategoryId'> &
  Pick<Encounter, 'encounterNo' | 'gfeNo' | 'reference' | 'patientId' | 'clinicId'> & { readonly validUntil: Date };

function announcement(notice: Notice) {
  const longest = notice === 'gfe.expired' ? 0 : NOTICE_DAYS.others;
  const unannounced = notice === 'gfe.expired' ? Prisma.sql`true` : Prisma.sql`expiring_notified_at IS NULL`;
  const isDue = (now: Prisma.Sql): Prisma.Sql => Prisma.sql`status = 'approved' AND valid_until IS NOT NULL
    AND expired_notified_at IS NULL AND ${unannounced} AND valid_until <= ${daysAfter(now, longest)}`;
  return forEachTenantClock({
    table: 'gfe_item',
    isDue,
    which: (now) => (notice === 'gfe.expired' ? isDue(now) : Prisma.sql`${isDue(now)} AND ${isExpiring(now)}`),
    order: Prisma.sql`valid_until`,
    async workOff(context, tenantId, id) {
      const item = await notify(context, notice, tenantId, id);
      const { clinicId, patientId, categoryId, subcategoryId, validUntil } = item;
      recordEvent(context, { tenantId, clinicId }, notice, {
        ...numbersOf(item),
        patientId,
        categoryId,
        subcategoryId,
        validUntil: validUntil.toISOString(),
      });
    },
  });
}

/** Marks a locked item as announced. */
function notify({ db, now }: TransactionContext, notice: Notice, tenantId: string, id: string) {
  const column = notice === 'gfe.expiring' ? Prisma.sql`expiring_notified_at` : Prisma.sql`expired_notified_at`;
  return db.of(tenantId).row<NotifiedItem>`
    UPDATE gfe_item AS item SET ${column} = ${now()} FROM encounter
    WHERE item.tenant_id = ${tenantId} AND item.id = ${id}::uuid
      AND encounter.tenant_id = ${tenantId} AND encounter.id = item.encounter_id
    RETURNING category_id AS "categoryId", subcategory_id AS "subcategoryId", valid_until AS "validUntil",
      encounter_no AS "encounterNo", gfe_no AS "gfeNo", reference, patient_id AS "patientId",
      encounter.clinic_id AS "clinicId"`;
}

/** The condition for approvals in the notice period before their end. */
function isExpiring(now: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`valid_until > ${now} AND valid_until <= CASE review_often
    WHEN 'MONTHLY' THEN ${daysAfter(now, NOTICE_DAYS.monthly)} ELSE ${daysAfter(now, NOTICE_DAYS.others)} END`;
}

const daysAfter = (now: Prisma.Sql, days: number): Prisma.Sql =>
  Prisma.sql`${now} + interval '1 day' * ${Prisma.raw(String(days))}`;
