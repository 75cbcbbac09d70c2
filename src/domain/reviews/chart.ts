import { Prisma, type Encounter } from '../../../generated/prisma/client.js';
import type { Models, Reads } from '../../adapters/database/database.js';
import type { Context } from '../../context.js';
import { getPatient } from '../patients/patients.js';
import { findPossibleDuplicates } from '../patients/possibleDuplicates.js';
import { showEncounter, showUndecidedEncounters, type DetailedEncounter } from '../encounters/lookup.js';
import { actorOf, dueEvent, nextState } from '../encounters/states.js';
import { isExpired } from '../orders/holds.js';
import { readUntilFull } from '../transactions/listCursor.js';
import { findRows } from '../transactions/rows.js';
import type { ModelContext } from '../transactions/transaction.js';
import { chartVersion, ordersOfPatient, readMarks } from './chartVersion.js';

/** Everything that a provider needs to know for a decision (R-103). */
export type Chart = Awaited<ReturnType<typeof readChart>>;

/** Maximum of each: earlier reviews, open encounters, ended ones, supplies, and documents that are not the encounter's. */
const MAX_ENTRIES = 100;

/**
 * The chart of an encounter and its version, in one snapshot, for the provider that holds the claim (R-103).
 * The audit records the patient even if the caller does not hold the claim.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state without a claim, claimed_by_other
 */
export function openChart(
  context: Context,
  encounterId: string | number,
  reviewer: { readonly reviewerRef: string },
): Promise<Chart> {
  return context.db.snapshot(async (db) => {
    const encounter = await showEncounter({ ...context, db }, encounterId);
    context.audit.patientId = encounter.patientId;
    // Check the same right as a review does. A lapsed claim gives none.
    const hasLapsed = dueEvent(encounter, context.now()) === 'lapse';
    nextState(hasLapsed ? 'pending_review' : encounter.status, 'approve', actorOf(context, encounter, reviewer));
    return readChart({ ...context, db }, encounter);
  });
}

/** Reads the rest of the chart in the same snapshot. */
async function readChart(context: ModelContext, encounter: DetailedEncounter) {
  const { prisma } = context.db;
  const { tenantId, id, patientId } = encounter;
  const files = await patientDocuments(prisma, encounter);
  const reviews = await latestReviews(prisma, { tenantId, patientId });
  const open = await showUndecidedEncounters(context, patientId, 'open', MAX_ENTRIES);
  const ended = await showUndecidedEncounters(context, patientId, 'ended', MAX_ENTRIES);
  const supplies = await latestSupplies(context.db, encounter);
  const patient = await getPatient(context, patientId);
  const possible = await findPossibleDuplicates(context, patient);
  const marks = await readMarks(context, Prisma.sql`encounter.id = ${id}::uuid`, possible);
  return {
    version: chartVersion(marks),
    encounter,
    patient,
    treatments: await prisma.encounterTreatment.findMany({
      where: { tenantId, encounterId: id },
      orderBy: { position: 'asc' },
    }),
    /** The patient's documents, beginning with the encounter's; withdrawn ones are excluded. */
    documents: files.documents,
    /** Documents of the encounter that were withdrawn (R-233). */
    withdrawnDocuments: files.withdrawnDocuments,
    earlierReviews: reviews.earlierReviews,
    /** Other encounters of the patient that wait for a decision. */
    openEncounters: open.encounters.filter((other) => other.id !== id),
    /** Encounters of the patient that were cancelled or expired. */
    endedEncounters: ended.encounters,
    supplies: supplies.lines.map((line) =>
      isExpired(line, context.now()) ? { ...line, holdReason: 'expired' as const } : line,
    ),
    /** Whether older entries, possible duplicates or their denials were not read; the view may omit more. */
    hasMore: [files, reviews, open, ended, supplies, possible].some(({ hasMore }) => hasMore),
    possibleDuplicates: possible.patients,
  };
}

/** The documents that the encounter names, then the patient's other documents that are not withdrawn. */
async function patientDocuments(prisma: Models, { tenantId, patientId, documents }: DetailedEncounter) {
  const ids = documents.map(({ documentId }) => documentId);
  const where = { tenantId, patientId };
  const named = await prisma.document.findMany({ where: { ...where, id: { in: ids } } });
  const others = await prisma.document.findMany({
    where: { ...where, id: { notIn: ids }, withdrawnAt: null },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: MAX_ENTRIES + 1,
  });
  const shown = [...ids.flatMap((id) => named.filter((file) => file.id === id)), ...others.slice(0, MAX_ENTRIES)];
  return {
    documents: shown.filter(({ withdrawnAt }) => withdrawnAt === null),
    withdrawnDocuments: shown.filter(({ withdrawnAt }) => withdrawnAt !== null),
    hasMore: others.length > MAX_ENTRIES,
  };
}

/** The patient's order lines at any clinic: the provider must see that another clinic supplies the treatment, too. */
async function latestSupplies(db: Reads, { tenantId, patientId }: Pick<Encounter, 'tenantId' | 'patientId'>) {
  const ofPatient = Prisma.sql`order_id ${ordersOfPatient(tenantId, Prisma.sql`${patientId}::uuid`)}`;
  const latest = Prisma.sql`ORDER BY ordered_at DESC, order_id DESC, position LIMIT ${MAX_ENTRIES + 1}`;
  const found = await findRows(db, tenantId, 'OrderLine', Prisma.sql`${ofPatient} ${latest}`);
  const shown = found.slice(0, MAX_ENTRIES);
  const ids = [...new Set(shown.map(({ orderId }) => orderId))];
  const orders = new Map(
    (await db.prisma.order.findMany({ where: { tenantId, id: { in: ids } } })).map((order) => [order.id, order]),
  );
  const lines = shown.flatMap((line) => {
    const order = orders.get(line.orderId);
    return order ? [{ ...line, order }] : [];
  });
  return { lines, hasMore: found.length > MAX_ENTRIES };
}

/** The columns of an exchange of information that a chart shows. */
const exchanged = { requestedAt: true, reviewerRef: true, message: true, providedAt: true, additionalNotes: true };

async function latestReviews(prisma: Models, { tenantId, patientId }: Pick<Encounter, 'tenantId' | 'patientId'>) {
  const where = { tenantId, patientId, completedAt: { not: null }, reviewerRef: { not: null } };
  const orderBy = [{ completedAt: 'desc' as const }, { encounterNo: 'desc' as const }];
  const latest = await prisma.encounter.findMany({ where, orderBy, take: MAX_ENTRIES + 1, select: { id: true } });
  const include = {
    gfeItems: { where: { tenantId, decidedAt: { not: null } }, orderBy: { position: 'asc' } },
    addenda: { where: { tenantId }, orderBy: [{ addedAt: 'asc' }, { id: 'asc' }] },
    treatments: { where: { tenantId }, orderBy: { position: 'asc' } },
    information: { where: { tenantId }, orderBy: [{ requestedAt: 'asc' }, { id: 'asc' }], select: exchanged },
  } satisfies Prisma.EncounterInclude;
  const ids = latest.slice(0, MAX_ENTRIES).map(({ id }) => id);
  const earlierReviews = await readUntilFull(ids, (batch) =>
    prisma.encounter.findMany({ where: { tenantId, id: { in: [...batch] } }, include, orderBy }),
  );
  return { earlierReviews, hasMore: latest.length > earlierReviews.length };
}
