import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { mayUseClinic, ofClinics } from '../access/visibility.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, listPage, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';
import { onlyUuid } from '../transactions/uuid.js';
import { inForce } from './inForce.js';

export type Renewal = Pick<GfeItem, 'id' | 'categoryId' | 'subcategoryId' | 'categoryName' | 'subCategoryName'> &
  Pick<Encounter, 'patientId' | 'clinicId' | 'encounterNo' | 'gfeNo'> & {
    readonly decidedAt: Date;
    readonly validUntil: Date;
  };

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Lists the approvals in force that end before a day and have no successor, ordered by their end (R-225). A page starts
 * at the cursor, or at the present time, in an index of ends: that of the tenant, or of one clinic (R-225).
 * @throws Problem cursor_invalid
 */
export async function listRenewals(
  context: ReadContext,
  { clinicId, expiring_before, cursor, limit }: Input<'listRenewals'>['query'],
): Promise<ListPage<Renewal>> {
  const { tenantId, allowedClinicIds } = context.caller;
  const clinics = clinicId === undefined ? allowedClinicIds : [clinicId].filter((id) => mayUseClinic(context, id));
  const now = context.now();
  const after = cursor === undefined ? { createdAt: now, key: LAST_ID } : placeOf(cursor, onlyUuid);
  const ofClinic = clinics === null ? Prisma.sql`true` : ofClinics(Prisma.sql`item.clinic_id`, clinics);
  const found = await context.db.of(tenantId).rows<Renewal>`
    SELECT item.id, item.category_id AS "categoryId", item.subcategory_id AS "subcategoryId",
      item.category_name AS "categoryName", item.sub_category_name AS "subCategoryName", item.decided_at AS "decidedAt",
      item.valid_until AS "validUntil", encounter.patient_id AS "patientId", encounter.clinic_id AS "clinicId",
      encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo"
    FROM gfe_item AS item JOIN encounter ON encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
    WHERE item.tenant_id = ${tenantId} AND ${inForce(now)} AND ${ofClinic}
      AND item.valid_until IS NOT NULL AND (item.valid_until, item.id) > (${after.createdAt}, ${after.key}::uuid)
      AND item.valid_until < ${comparableInstant(`${expiring_before}T00:00:00Z`)} AND NOT EXISTS (
        SELECT FROM encounter AS next JOIN gfe_item AS successor
          ON successor.tenant_id = next.tenant_id AND successor.encounter_id = next.id
          AND successor.category_id = item.category_id AND successor.subcategory_id = item.subcategory_id
        WHERE next.tenant_id = ${tenantId} AND next.patient_id = encounter.patient_id
          AND next.clinic_id = encounter.clinic_id AND successor.status = 'approved'
          AND (successor.valid_until IS NULL OR (successor.valid_until, successor.id) > (item.valid_until, item.id)))
    ORDER BY item.valid_until, item.id LIMIT ${limit + 1}`;
  return listPage(found, limit, ({ id, validUntil }) => listCursor(id, validUntil));
}
