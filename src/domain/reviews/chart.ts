import { Prisma, type Document } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import { getPatient, type PatientRecord } from '../patients/patients.js';
import { findDuplicates, type Duplicate } from '../encounters/duplicates.js';
import type { DetailedEncounter } from '../encounters/lookup.js';
import { actorOf } from './review.js';
import { nextState } from '../encounters/states.js';
import { applyElapsedTime } from '../encounters/transitions.js';

const treatmentInclude = { product: { include: { rx: true } } } satisfies Prisma.EncounterTreatmentInclude;
const reviewInclude = {
  gfeItems: { where: { decidedAt: { not: null }, reusedFromEncounterId: null }, orderBy: { position: 'asc' } },
  addenda: { orderBy: [{ addedAt: 'asc' }, { id: 'asc' }] },
} satisfies Prisma.EncounterInclude;

/** A treatment with what is prescribed. */
export type ChartTreatment = Prisma.EncounterTreatmentGetPayload<{ include: typeof treatmentInclude }>;
/** An earlier review of the patient. */
export type EarlierReview = Prisma.EncounterGetPayload<{ include: typeof reviewInclude }>;

/** What a provider needs to decide. */
export interface Chart {
  readonly encounter: DetailedEncounter;
  readonly patient: PatientRecord;
  readonly treatments: readonly ChartTreatment[];
  readonly documents: readonly Document[];
  readonly earlierReviews: readonly EarlierReview[];
  readonly duplicates: readonly Duplicate[];
}

const MOST_REVIEWS = 100;

/**
 * The chart of an encounter, for the provider that holds its claim.
 * @throws Problem invalid_state when nobody holds it (any more), claimed_by_other
 */
export async function openChart(
  context: Context,
  encounter: DetailedEncounter,
  reviewer: { readonly reviewerRef: string },
): Promise<Chart> {
  const current = applyElapsedTime(encounter, context.now());
  // Who may decide may read.
  nextState(current.status, 'approve', actorOf(context, current, reviewer));
  const { tenantId, patientId, gfeItems } = encounter;
  const others = await findDuplicates(context, patientId, gfeItems, null);
  return {
    encounter,
    patient: await getPatient(context, patientId),
    treatments: await context.db.encounterTreatment.findMany({
      where: { tenantId, encounterId: encounter.id },
      include: treatmentInclude,
      orderBy: { position: 'asc' },
    }),
    documents: await includedDocuments(context, encounter),
    earlierReviews: await context.db.encounter.findMany({
      where: { tenantId, patientId, completedAt: { not: null }, reviewerRef: { not: null } },
      include: reviewInclude,
      orderBy: [{ completedAt: 'desc' }, { encounterNo: 'desc' }],
      take: MOST_REVIEWS,
    }),
    duplicates: others.filter(({ encounterNo }) => encounterNo !== encounter.encounterNo),
  };
}

async function includedDocuments({ db }: Context, { tenantId, documents }: DetailedEncounter): Promise<Document[]> {
  const ids = documents.map(({ documentId }) => documentId);
  const found = await db.rows<Document>(Prisma.sql`
    SELECT ${fieldsOf('Document', 'document')} FROM document
    WHERE tenant_id = ${tenantId} AND id = ANY (${ids}::uuid[])`);
  return ids.flatMap((id) => found.find((document) => document.id === id) ?? []);
}
