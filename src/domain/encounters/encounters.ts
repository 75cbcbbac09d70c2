import {
  Prisma,
  type Encounter,
  type EncounterDocument,
  type EncounterTreatment,
  type GfeItem,
  type Order,
} from '../../../generated/prisma/client.js';
import { draftEncounter, hasNews, type EncounterDraft, type EncounterRequest } from './draft.js';
import { permitted } from './lookup.js';
import { refuse } from './references.js';
import { requireRoom } from '../access/sandboxTenants.js';
import { recordEvent } from '../events/record.js';
import { factsCount } from '../patients/facts.js';
import { numbersOf } from '../events/subject.js';
import { claimableFrom, expiresAt } from './schedule.js';
import { tenantInsertion, withParts } from '../transactions/bulkSql.js';
import { findRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';

/** The id and number of a sandbox fixture, used in place of generated ones. */
export type FixedEncounter = Pick<Encounter, 'id' | 'encounterNo'>;

/** A stored encounter with its parts. */
export interface EncounterRecord extends Encounter {
  readonly treatments: readonly EncounterTreatment[];
  readonly documents: readonly EncounterDocument[];
  readonly gfeItems: readonly GfeItem[];
  readonly order: Order | null;
}

/**
 * Creates an encounter with a frozen copy of its treatments.
 * @param body one that `checkEncounterRequest` accepted
 * @throws Problem schedule_*, *_not_found, *_inactive, guardian_required, treatment_unavailable_at_clinic,
 * treatment_not_permitted, document_patient_mismatch, document_withdrawn, sandbox_full
 */
export async function createEncounter(
  context: CallerContext,
  body: EncounterRequest,
  fixed?: FixedEncounter,
): Promise<EncounterRecord> {
  const draft = await draftEncounter(context, body, !fixed);
  const [failing] = draft.faults;
  if (failing) throw refuse(failing);
  await requireRoom(context, 'encounter');
  const created = await insertEncounter(context, body, draft, fixed);
  const { tenantId, clinicId, status, reviewType, patientId } = created;
  recordEvent(context, { tenantId, clinicId }, 'encounter.created', {
    ...numbersOf(created),
    status,
    reviewType,
    clinicId,
    patientId,
  });
  return created;
}

/** Reads an encounter that the transaction has locked, by its public number. @throws Problem as {@link permitted} */
export async function getEncounter(context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> {
  const { db, caller } = context;
  const { tenantId } = caller;
  const encounter = permitted(
    context,
    (await findRows(db, tenantId, 'Encounter', Prisma.sql`encounter_no = ${encounterNo}`))[0],
  );
  const ofEncounter = Prisma.sql`encounter_id = ${encounter.id}::uuid`;
  const inOrder = Prisma.sql`${ofEncounter} ORDER BY position`;
  // Send these statements together, so that they take one round trip.
  const [treatments, documents, gfeItems, [order = null]] = await Promise.all([
    findRows(db, tenantId, 'EncounterTreatment', inOrder),
    findRows(db, tenantId, 'EncounterDocument', inOrder),
    findRows(db, tenantId, 'GfeItem', inOrder),
    findRows(db, tenantId, 'Order', ofEncounter),
  ]);
  return { treatments, documents, gfeItems, order, ...encounter };
}

/**
 * Inserts an encounter and its parts. The statement is sent with the events at the end of the transaction, except for a
 * fixture, whose rows the transaction reads before.
 */
async function insertEncounter(
  context: CallerContext,
  body: EncounterRequest,
  draft: EncounterDraft,
  fixed: FixedEncounter | undefined,
): Promise<EncounterRecord> {
  const { tenantId } = context.caller;
  const row = newEncounter(context, body, draft, fixed);
  const { id: encounterId } = row;
  const parts = {
    ...draftedParts(draft, row),
    encounter_document: draft.documents.map(({ id }, position) => ({ encounterId, documentId: id, position })),
  };
  const partInsertions = Object.entries(parts)
    .filter(([, rows]) => rows.length > 0)
    .map(([table, rows]) => tenantInsertion(tenantId, table, rows));
  if (hasNews(body)) partInsertions.push(factsCount(tenantId, row.patientId));
  const insertion = tenantInsertion(tenantId, 'encounter', [row]);
  if (fixed) await context.db.of(tenantId).rows(withParts(partInsertions, insertion));
  else context.changes.push(insertion, ...partInsertions);
  const unnotified = { expiringNotifiedAt: null, expiredNotifiedAt: null };
  const undecided = {
    ...unnotified,
    denialReason: null,
    declinedTreatmentIds: [],
    rationale: null,
    factsVersion: null,
    revokedBy: null,
    revocationReason: null,
  };
  return {
    tenantId,
    gfeNo: gfeNoOf(row.encounterNo),
    ...row,
    ...unreviewed,
    treatments: parts.encounter_treatment.map((line) => ({ tenantId, ...line })),
    documents: parts.encounter_document.map((document) => ({ tenantId, ...document })),
    gfeItems: parts.gfe_item.map((item) => ({ tenantId, ...undecided, ...item })),
    order: null,
  };
}

/** The treatments and items of a draft, as rows of an encounter. */
export const draftedParts = (
  { lines, items }: EncounterDraft,
  { id: encounterId, clinicId }: Pick<Encounter, 'id' | 'clinicId'>,
) => ({
  encounter_treatment: lines.map((line) => ({ encounterId, ...line })),
  gfe_item: items.map((item) => ({ encounterId, clinicId, ...item })),
});

/** The columns that the draft and the type of review decide, at the creation and with each update of an encounter. */
export const draftedColumns = (
  { patient, schedule, amounts, currency }: EncounterDraft,
  reviewType: Encounter['reviewType'],
  createdAt: Date,
) => ({
  reviewType,
  reviewState: patient.reviewState,
  claimableFrom: claimableFrom(reviewType, schedule, createdAt),
  ...amounts,
  currency,
});

/** Values that the database sets in a new encounter by default. */
const unreviewed = {
  reviewerRef: null,
  claimedAt: null,
  claimedById: null,
  reviewedById: null,
  leaseExpiresAt: null,
  visitUrl: null,
  visitStartedAt: null,
  visitEndedAt: null,
  reviewNotes: null,
  reviewedIdentity: null,
  completedAt: null,
  cancelledAt: null,
  cancelReason: null,
  version: 1,
} satisfies Partial<EncounterRecord>;

/** Computes what the generated column `gfe_no` will have. */
const gfeNoOf = (encounterNo: bigint): string => `GFE-${encounterNo}`;

function newEncounter(
  context: CallerContext,
  body: EncounterRequest,
  draft: EncounterDraft,
  fixed: FixedEncounter | undefined,
) {
  const now = context.now();
  const { clinic, patient, schedule, nextNumber } = draft;
  const encounterNo = fixed?.encounterNo ?? nextNumber;
  if (encounterNo === null) throw new Error('a new encounter was given no encounter number');
  return {
    id: context.newId(),
    encounterNo,
    ...fixed,
    clinicId: clinic.id,
    patientId: patient.id,
    status: 'pending_review' as const,
    serviceQueue: body.serviceQueue,
    additionalNotes: body.additionalNotes ?? null,
    reference: body.reference ?? null,
    metadata: (body.metadata ?? null) as Encounter['metadata'],
    shipTo: body.shipTo ?? null,
    scheduledDay: body.scheduledDay ?? null,
    scheduledTime: body.scheduledTime ?? null,
    scheduledTimeZone: body.scheduledTimeZone ?? null,
    scheduledAt: schedule.scheduledAt,
    ...draftedColumns(draft, body.reviewType, now),
    expiresAt: expiresAt(schedule, now),
    createdAt: now,
    updatedAt: now,
  };
}
