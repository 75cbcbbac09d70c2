import {
  Prisma,
  type Document,
  type Encounter,
  type EncounterAddendum,
  type EncounterTreatment,
  type GfeItem,
  type Order,
  type OrderLine,
} from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/statements.js';
import type { Context } from '../../context.js';
import { getPatient, type PatientRecord } from '../patients/patients.js';
import { findPossibleDuplicates, type PossibleDuplicate } from '../patients/possibleDuplicates.js';
import { showUndecidedEncounters, type DetailedEncounter } from '../encounters/lookup.js';
import { actorOf, dueEvent, nextState } from '../encounters/states.js';
import { readUntilFull } from '../transactions/listCursor.js';
import type { ReadContext } from '../transactions/transaction.js';
import { findRows, groupedBy } from '../transactions/rows.js';
import { chartVersion, readMarks } from './chartVersion.js';

/** An earlier review of the patient with the items that it decided. */
export type EarlierReview = Encounter & {
  readonly gfeItems: readonly GfeItem[];
  readonly addenda: readonly EncounterAddendum[];
  readonly treatments: readonly EncounterTreatment[];
};

/** A line of an order of the patient: two supplies of one treatment at once must be visible. */
export type Supply = Pick<OrderLine, 'productId' | 'name' | 'orderedAt' | 'status' | 'shippedAt' | 'holdReason'> &
  Pick<Order, 'orderNo' | 'clinicId'>;

/** Everything that a provider needs to know for a decision. */
export interface Chart {
  readonly version: string;
  readonly encounter: DetailedEncounter;
  readonly patient: PatientRecord;
  readonly treatments: readonly EncounterTreatment[];
  /** The patient's documents, beginning with the encounter's; withdrawn ones are excluded. */
  readonly documents: readonly Document[];
  /** Documents of the encounter that were withdrawn. */
  readonly withdrawnDocuments: readonly Document[];
  readonly earlierReviews: readonly EarlierReview[];
  /** Other encounters of the patient that wait for a decision. */
  readonly openEncounters: readonly DetailedEncounter[];
  /** Encounters of the patient that were cancelled or expired. */
  readonly endedEncounters: readonly DetailedEncounter[];
  /** What was ordered for the patient, latest first. */
  readonly supplies: readonly Supply[];
  /** Whether the chart omits older entries, or possible duplicates or their denials. */
  readonly hasMore: boolean;
  readonly possibleDuplicates: readonly PossibleDuplicate[];
}

/** Maximum of each: earlier reviews, other encounters, supplies, and documents that the encounter does not name. */
const MAX_ENTRIES = 100;

/**
 * The chart of an encounter, for the provider that holds its claim.
 * @throws Problem invalid_state without a claim, claimed_by_other
 */
export async function openChart(
  context: Context,
  encounter: DetailedEncounter,
  reviewer: { readonly reviewerRef: string },
): Promise<Chart> {
  // Check the same right as for deciding: who may not decide may not read the chart. A lapsed claim is none.
  const hasLapsed = dueEvent(encounter, context.now()) === 'lapse';
  nextState(hasLapsed ? 'pending_review' : encounter.status, 'approve', actorOf(context, encounter, reviewer));
  return context.db.snapshot((db) => readChart({ ...context, db }, encounter));
}

/** Reads the chart of an encounter in a snapshot. */
async function readChart(context: ReadContext, encounter: DetailedEncounter): Promise<Chart> {
  const { db } = context;
  const { patientId } = encounter;
  const files = await patientDocuments(db, encounter);
  const reviews = await latestReviews(db, encounter);
  const open = await showUndecidedEncounters(context, patientId, 'open', MAX_ENTRIES);
  const ended = await showUndecidedEncounters(context, patientId, 'ended', MAX_ENTRIES);
  const supplies = await latestSupplies(db, encounter);
  const patient = await getPatient(context, patientId);
  const possible = await findPossibleDuplicates(context, patient);
  const marks = await readMarks(context, Prisma.sql`encounter.id = ${encounter.id}::uuid`, possible);
  return {
    version: chartVersion(marks),
    encounter,
    patient,
    treatments: await findRows(
      db,
      encounter.tenantId,
      'EncounterTreatment',
      Prisma.sql`encounter_id = ${encounter.id}::uuid ORDER BY position`,
    ),
    documents: files.documents,
    withdrawnDocuments: files.withdrawnDocuments,
    earlierReviews: reviews.earlierReviews,
    openEncounters: open.encounters.filter(({ id }) => id !== encounter.id),
    endedEncounters: ended.encounters,
    supplies: supplies.slice(0, MAX_ENTRIES),
    hasMore: [files, reviews, open, ended, possible].some(({ hasMore }) => hasMore) || supplies.length > MAX_ENTRIES,
    possibleDuplicates: possible.patients,
  };
}

async function patientDocuments(db: Queries, { tenantId, patientId, documents }: DetailedEncounter) {
  const ids = documents.map(({ documentId }) => documentId);
  const most = ids.length + MAX_ENTRIES;
  const found = await findRows(
    db,
    tenantId,
    'Document',
    Prisma.sql`patient_id = ${patientId}::uuid AND (withdrawn_at IS NULL OR id = ANY(${ids}::uuid[]))
      ORDER BY array_position(${ids}::uuid[], id), created_at DESC, id DESC LIMIT ${most + 1}`,
  );
  const shown = found.slice(0, most);
  return {
    documents: shown.filter(({ withdrawnAt }) => withdrawnAt === null),
    withdrawnDocuments: shown.filter(({ withdrawnAt }) => withdrawnAt !== null),
    hasMore: found.length > most,
  };
}

/** The latest lines of the patient's orders, at any clinic; one more than is shown means that there are more. */
function latestSupplies(db: Queries, { tenantId, patientId }: DetailedEncounter): Promise<Supply[]> {
  return db.of(tenantId).rows<Supply>`
    SELECT line.product_id AS "productId", line.name, line.ordered_at AS "orderedAt", line.status,
      line.shipped_at AS "shippedAt", line.hold_reason AS "holdReason", "order".order_no AS "orderNo",
      "order".clinic_id AS "clinicId"
    FROM encounter
      JOIN "order" ON "order".tenant_id = encounter.tenant_id AND "order".encounter_id = encounter.id
      JOIN order_line AS line ON line.tenant_id = "order".tenant_id AND line.order_id = "order".id
    WHERE encounter.tenant_id = ${tenantId} AND encounter.patient_id = ${patientId}::uuid
    ORDER BY line.ordered_at DESC, line.order_id DESC, line.position LIMIT ${MAX_ENTRIES + 1}`;
}

async function latestReviews(db: Queries, { tenantId, patientId }: DetailedEncounter) {
  const latest = await db.of(tenantId).rows<Pick<Encounter, 'id'>>`
    SELECT id FROM encounter
    WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND completed_at IS NOT NULL AND reviewer_ref IS NOT NULL
    ORDER BY completed_at DESC, encounter_no DESC LIMIT ${MAX_ENTRIES + 1}`;
  const ids = latest.slice(0, MAX_ENTRIES).map(({ id }) => id);
  const earlierReviews = await readUntilFull(ids, (batch) => reviewsOf(db, tenantId, batch));
  return { earlierReviews, hasMore: latest.length > earlierReviews.length };
}

async function reviewsOf(db: Queries, tenantId: string, ids: readonly string[]): Promise<EarlierReview[]> {
  const latestFirst = Prisma.sql`id = ANY(${[...ids]}::uuid[]) ORDER BY completed_at DESC, encounter_no DESC`;
  const reviews = await findRows(db, tenantId, 'Encounter', latestFirst);
  const ofReviews = Prisma.sql`encounter_id = ANY(${[...ids]}::uuid[])`;
  const decided = Prisma.sql`${ofReviews} AND decided_at IS NOT NULL ORDER BY position`;
  const itemsOf = groupedBy(await findRows(db, tenantId, 'GfeItem', decided), ({ encounterId }) => encounterId);
  const addenda = await findRows(db, tenantId, 'EncounterAddendum', Prisma.sql`${ofReviews} ORDER BY added_at, id`);
  const addendaOf = groupedBy(addenda, ({ encounterId }) => encounterId);
  const treatments = await findRows(db, tenantId, 'EncounterTreatment', Prisma.sql`${ofReviews} ORDER BY position`);
  const treatmentsOf = groupedBy(treatments, ({ encounterId }) => encounterId);
  return reviews.map((review) => {
    const { id } = review;
    return { ...review, gfeItems: itemsOf(id), addenda: addendaOf(id), treatments: treatmentsOf(id) };
  });
}
