import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { Input } from '../../contract.js';
import { atClinics } from '../access/limits.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, listPage, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';
import { onlyUuid } from '../transactions/uuid.js';
import {
  factsAt,
  presentClinic,
  presentPatient,
  presentTreatment,
  type AskedTreatment,
  type PresentClinic,
  type PresentPatient,
} from './clearance.js';
import { coverage, type Coverage } from './coverage.js';

type RenewalItem = Pick<GfeItem, 'id' | 'categoryId' | 'subcategoryId' | 'categoryName' | 'subCategoryName'> &
  Pick<Encounter, 'patientId' | 'clinicId' | 'encounterNo' | 'gfeNo'> & {
    readonly decidedAt: Date;
    readonly validUntil: Date;
  };

/** An approved item, and whether the patient may now get each treatment that the approval covers. */
export type Renewal = RenewalItem & {
  readonly treatments: readonly { readonly id: string; readonly name: string; readonly reason: Coverage }[];
};

interface RenewalRow extends RenewalItem, Pick<Encounter, 'reviewType'> {
  readonly patient: PresentPatient;
  readonly clinic: PresentClinic;
  /** The treatments that the approval covers, as approved and as of today. */
  readonly covered: readonly { readonly name: string; readonly rx: unknown; readonly present: AskedTreatment }[];
}

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
  // Bound the index scan by the day's beginning in the westernmost zone, then compare each row with its clinic's.
  const daysEnd = new Date(comparableInstant(`${expiring_before}T00:00:00Z`).getTime() + WESTERNMOST_MS);
  const found = await context.db.of(tenantId).rows<RenewalRow>`
    SELECT item.id, item.category_id AS "categoryId", item.subcategory_id AS "subcategoryId",
      item.category_name AS "categoryName", item.sub_category_name AS "subCategoryName", item.decided_at AS "decidedAt",
      item.valid_until AS "validUntil", encounter.patient_id AS "patientId", encounter.clinic_id AS "clinicId",
      encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo", encounter.review_type AS "reviewType",
      (SELECT json_build_object(${presentPatient}) FROM client
        WHERE client.tenant_id = ${tenantId} AND client.id = encounter.patient_id) AS patient,
      (SELECT ${presentClinic} FROM clinic
        WHERE clinic.tenant_id = ${tenantId} AND clinic.id = encounter.clinic_id) AS clinic,
      (SELECT json_agg(json_build_object('name', part.name, 'rx', part.rx, 'present', (
          SELECT json_build_object(${presentTreatment(tenantId)})
          FROM product AS p JOIN category AS c ON c.tenant_id = p.tenant_id AND c.id = p.category_id
          WHERE p.tenant_id = ${tenantId} AND p.id = part.product_id)) ORDER BY part.position)
        FROM encounter_treatment AS part
        WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id
          AND part.category_id = item.category_id AND part.subcategory_id = item.subcategory_id
          AND part.decision = 'approved' AND part.ended_at IS NULL) AS covered
    FROM gfe_item AS item JOIN encounter ON encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
      LEFT JOIN clinic_location AS place ON place.tenant_id = encounter.tenant_id
        AND place.clinic_id = encounter.clinic_id AND place.is_primary
    WHERE item.tenant_id = ${tenantId} AND item.status = 'approved' AND item.valid_until > ${now}
      AND ${ofClinic}
      AND item.valid_until IS NOT NULL AND (item.valid_until, item.id) > (${after.createdAt}, ${after.key}::uuid)
      AND item.valid_until < ${daysEnd}::timestamptz
      AND item.valid_until < ${expiring_before}::timestamp AT TIME ZONE coalesce(place.timezone, 'UTC')
    ORDER BY item.valid_until, item.id LIMIT ${limit + 1}`;
  return listPage(
    found.map((row) => renewalOf(row, now)),
    limit,
    ({ id, validUntil }) => listCursor(id, validUntil),
  );
}

/** Adds the coverage of each treatment. An approval that has not ended is the latest decision about the treatment. */
function renewalOf({ patient, clinic, covered, reviewType, ...item }: RenewalRow, now: Date): Renewal {
  const facts = factsAt(now, patient, clinic);
  const { validUntil } = item;
  const approval = { decision: 'approved', endedAt: null, endReason: null, validUntil, reviewType } as const;
  const treatments = covered.map(({ name, rx, present }) => {
    return { id: present.id, name, reason: coverage(present, { rx, ...approval }, false, facts, now) };
  });
  return { treatments, ...item };
}
