import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { LookupContext } from '../transactions/transaction.js';
import type { ItemIdentity } from '../catalog/itemKey.js';

export type Duplicate = Pick<Encounter, 'encounterNo' | 'gfeNo' | 'status' | 'clinicId' | 'createdAt'> &
  Pick<GfeItem, 'categoryId' | 'categoryName' | 'subcategoryId' | 'subCategoryName'>;

const MAX_DUPLICATES = 100;

/** Open encounters of a patient with one of these items, latest first; `clinicIds` null = every clinic. */
export function findDuplicates(
  { db, caller }: LookupContext,
  patientId: string,
  items: readonly ItemIdentity[],
  clinicIds: readonly string[] | null,
): Promise<Duplicate[]> {
  const places =
    clinicIds === null ? Prisma.empty : Prisma.sql`AND encounter.clinic_id = ANY(${[...clinicIds]}::uuid[])`;
  return db.of(caller.tenantId).rows<Duplicate>`
    SELECT encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo", encounter.status,
      encounter.clinic_id AS "clinicId", encounter.created_at AS "createdAt", item.category_id AS "categoryId",
      item.category_name AS "categoryName", item.subcategory_id AS "subcategoryId",
      item.sub_category_name AS "subCategoryName"
    FROM encounter JOIN gfe_item AS item ON item.tenant_id = encounter.tenant_id AND item.encounter_id = encounter.id
    WHERE encounter.tenant_id = ${caller.tenantId} AND encounter.patient_id = ${patientId}::uuid
      AND encounter.phase = 'open'
      AND (item.category_id, item.subcategory_id) IN (${keysOf(items)}) ${places}
    ORDER BY encounter.created_at DESC, encounter.encounter_no DESC, item.position LIMIT ${MAX_DUPLICATES}`;
}

/** Selects the keys of items, for `(category_id, subcategory_id) IN`. */
const keysOf = (items: readonly ItemIdentity[]): Prisma.Sql => Prisma.sql`
  SELECT * FROM unnest(${items.map(({ categoryId }) => categoryId)}::uuid[],
    ${items.map(({ subcategoryId }) => subcategoryId)}::uuid[])`;
