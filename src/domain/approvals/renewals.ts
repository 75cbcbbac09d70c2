import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { atClinics } from '../access/limits.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, listPage, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';
import { onlyUuid } from '../transactions/uuid.js';

export type Renewal = Pick<GfeItem, 'id' | 'categoryId' | 'subcategoryId' | 'categoryName' | 'subCategoryName'> &
  Pick<Encounter, 'patientId' | 'clinicId' | 'encounterNo' | 'gfeNo'> & {
    readonly decidedAt: Date;
    readonly validUntil: Date;
  };

/** How much later a day begins in the westernmost zone than in UTC. */
const WESTERNMOST_MS = 12 * 3_600_000;

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Lists the approvals in force that end before a day of their clinic, ordered by their end. A page starts
 * at the cursor, or at the present time, in an index of ends: that of the tenant, or of one clinic.
 * @throws Problem cursor_invalid
 */
export async function listRenewals(
  context: ReadContext,
  { clinicId, expiring_before, cursor, limit }: Input<'listRenewals'>['query'],
): Promise<ListPage<Renewal>> {
  const { tenantId } = context.caller;
  const now = context.now();
  const after = cursor === undefined ? { createdAt: now, key: LAST_ID } : placeOf(cursor, onlyUuid);
  const ofClinic = Prisma.join(
    [Prisma.sql`true`, ...atClinics(context, Prisma.sql`item.clinic_id`, clinicId)],
    ' AND ',
  );
  // Bound the index scan by the last beginning of the day on earth, then compare each row with its clinic's beginning.
  const daysEnd = new Date(comparableInstant(`${expiring_before}T00:00:00Z`).getTime() + WESTERNMOST_MS);
  const found = await context.db.of(tenantId).rows<Renewal>`
    SELECT item.id, item.category_id AS "categoryId", item.subcategory_id AS "subcategoryId",
      item.category_name AS "categoryName", item.sub_category_name AS "subCategoryName", item.decided_at AS "decidedAt",
      item.valid_until AS "validUntil", encounter.patient_id AS "patientId", encounter.clinic_id AS "clinicId",
      encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo"
    FROM gfe_item AS item JOIN encounter ON encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
      LEFT JOIN clinic_location AS place ON place.tenant_id = encounter.tenant_id
        AND place.clinic_id = encounter.clinic_id AND place.is_primary
    WHERE item.tenant_id = ${tenantId} AND item.status = 'approved' AND item.valid_until > ${now}
      AND ${ofClinic}
      AND item.valid_until IS NOT NULL AND (item.valid_until, item.id) > (${after.createdAt}, ${after.key}::uuid)
      AND item.valid_until < ${daysEnd}::timestamptz
      AND item.valid_until < ${expiring_before}::timestamp AT TIME ZONE coalesce(place.timezone, 'UTC')
    ORDER BY item.valid_until, item.id LIMIT ${limit + 1}`;
  return listPage(found, limit, ({ id, validUntil }) => listCursor(id, validUntil));
}
