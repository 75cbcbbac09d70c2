import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../../../generated/prisma/client.js';
import type { Bodies, Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { decideCreation, refuseRepeatedIds, type EncounterRequest } from './creation.js';
import { announced, encounterCommand, moved } from './command.js';
import { columnOf, type EncounterRecord, type EncounterState } from './record.js';
import { lockReferences, refuse } from './references.js';
import { checkSchedule, claimableFrom, expiresAt, resolveSchedule } from './schedule.js';
import { nextState } from './states.js';
import { itemKey } from '../catalog/itemKey.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { patchedMetadata } from '../patients/metadata.js';
import type { Decision, Moment } from '../transactions/changes.js';
import { findRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';

type Patch = Schemas['EncounterPatch'];

/** The fields of an encounter that a patch may change. */
type Fields = Pick<EncounterRecord, 'reference' | 'metadata' | 'reviewType' | 'patientState'> & {
  readonly treatmentIds: readonly string[];
};

/** The facts, in addition to the encounter, that decide an update. */
interface Revised {
  /** The version that the caller may have read, before this request applies deadlines. */
  readonly version: number;
  /** The records that the revised request refers to; null if the patch has no field of {@link revising}. */
  readonly references: Awaited<ReturnType<typeof lockReferences>> | null;
}

/** The fields that only an encounter in the queue may change. */
const revising: readonly (keyof Patch)[] = ['treatmentIds', 'reviewType', 'patientState'];

const isRevision = (patch: Patch): boolean => revising.some((field) => field in patch);

/**
 * Applies a merge patch, and emits encounter.updated with the names of the changed fields, if any. Reference and metadata
 * may change in every status; treatments, type of review and the patient's state only in the queue, by the checks of
 * creation.
 * @param isExpected whether the request may change this version
 * @throws Problem validation_failed for a repeated treatment, encounter_not_found, clinic_not_permitted, version_conflict,
 * and those of {@link decideUpdate}
 */
export function updateEncounter(
  context: CallerContext,
  encounterNo: bigint,
  patch: Patch,
  isExpected: (version: number) => boolean,
): Promise<EncounterRecord> {
  refuseRepeatedIds(patch);
  return encounterCommand<Revised>(
    context,
    encounterNo,
    (state, at) => {
      if (!isExpected(state.version)) throw new Problem('version_conflict');
      return decideUpdate(state, patch, at);
    },
    (transaction, which) => loadRevised(transaction, which, patch),
  );
}

/** The encounter's version, and for a revision the records to which it refers after the patch. */
async function loadRevised(context: CallerContext, which: Prisma.Sql, patch: Patch): Promise<Revised> {
  const { db, caller } = context;
  const { tenantId } = caller;
  const [stored] = await db.of(tenantId).rows<{
    version: number;
    clinicId: string;
    patientId: string;
    treatmentIds: string[];
    documentIds: string[];
  }>`
    SELECT version, clinic_id AS "clinicId", patient_id AS "patientId",
      ARRAY(SELECT product_id FROM encounter_treatment AS part
        WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id ORDER BY position) AS "treatmentIds",
      ARRAY(SELECT document_id FROM encounter_document AS part
        WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id ORDER BY position) AS "documentIds"
    FROM encounter WHERE tenant_id = ${tenantId} AND ${which}`;
  if (!stored) throw new Problem('encounter_not_found');
  const { version, ...named } = stored;
  if (!isRevision(patch)) return { version, references: null };
  const treatmentIds = patch.treatmentIds ?? named.treatmentIds;
  return { version, references: await lockReferences(context, { ...named, treatmentIds }) };
}

/**
 * @throws Problem invalid_state; validation_failed for metadata; for a revision schedule_time_nonexistent, *_not_found,
 * *_inactive, guardian_required, treatment_unavailable_at_clinic, treatment_not_permitted, document_patient_mismatch
 */
export function decideUpdate(state: EncounterState & Revised, patch: Patch, at: Moment): Decision<EncounterState> {
  const { encounter, references } = state;
  if (isRevision(patch)) nextState(encounter.status, 'revise', 'partner');
  const { changed, ...fields } = patched(encounter, patch);
  if (changed.length === 0) return { state, events: [] };
  const { reference, metadata } = fields;
  const isRevised = changed.some((field) => revising.includes(field));
  const updated =
    isRevised && references
      ? revised(encounter, references, { ...fields, reference, metadata }, at)
      : { ...encounter, reference, metadata, version: encounter.version + 1, updatedAt: at.now };
  const event = told(updated, 'encounter.updated', { ...numbersOf(updated), changed });
  return { state: { ...state, encounter: updated }, events: [event] };
}

/** The fields after the patch, and the names of those that it changes. */
function patched(encounter: EncounterRecord, patch: Patch): Fields & { readonly changed: (keyof Fields)[] } {
  const { reference, metadata, reviewType, patientState, treatments } = encounter;
  const treatmentIds = treatments.map(({ productId }) => productId);
  const before = { reference, metadata, reviewType, patientState, treatmentIds };
  const after = {
    ...before,
    ...patch,
    patientState: patch.patientState?.toUpperCase() ?? ('patientState' in patch ? null : patientState),
    treatmentIds: patch.treatmentIds?.map(canonicalUuid) ?? before.treatmentIds,
    metadata: 'metadata' in patch ? (patchedMetadata(metadata, patch.metadata) as Fields['metadata']) : metadata,
  };
  const fields = Object.keys(patch) as (keyof Fields)[];
  return { ...after, changed: fields.filter((field) => !isDeepStrictEqual(after[field], before[field])) };
}

/** Decides the encounter again from its request, with the fields of a patch. Its schedule and its deadline stay. */
function revised(
  encounter: EncounterRecord,
  references: NonNullable<Revised['references']>,
  { treatmentIds, reviewType, patientState, reference, metadata }: Fields,
  at: Moment,
): EncounterRecord {
  const request = { ...requestOf(encounter), treatmentIds: [...treatmentIds], reviewType };
  const draft = decideCreation(references, patientState === null ? request : { ...request, patientState }, at);
  // Ignore documents that were withdrawn since the creation: the encounter keeps them.
  const failing = draft.faults.find(([fault]) => fault?.code !== 'document_withdrawn');
  if (failing) throw refuse(failing);
  const schedule = { ...draft.schedule, scheduledAt: encounter.scheduledAt };
  const { reviewState, subTotal, totalShippingAmt, grandTotal, currency } = draft.encounter;
  const columns = {
    ...{ reference, metadata, reviewType, patientState, reviewState, subTotal, totalShippingAmt, grandTotal, currency },
    claimableFrom: claimableFrom(reviewType, schedule, encounter.createdAt),
  };
  // Keep the ids of treatments and items that remain, so that PostgreSQL updates their rows.
  const idOf = new Map<string, string>([
    ...encounter.treatments.map(({ productId, id }) => [productId, id] as const),
    ...encounter.gfeItems.map((item) => [itemKey(item), item.id] as const),
  ]);
  const { id: encounterId } = encounter;
  return {
    ...moved(encounter, 'revise', 'partner', columns, at.now),
    treatments: draft.encounter.treatments.map((one) => {
      return { ...one, encounterId, id: idOf.get(one.productId) ?? one.id };
    }),
    gfeItems: draft.encounter.gfeItems.map((one) => ({ ...one, encounterId, id: idOf.get(itemKey(one)) ?? one.id })),
  };
}

/** An encounter's request without scheduledTime: the instant stays, even if the clinic's zone has changed. */
function requestOf(encounter: EncounterRecord): Omit<EncounterRequest, 'treatmentIds' | 'reviewType'> {
  const { clinicId, patientId, serviceQueue, documents } = encounter;
  const { additionalNotes, scheduledDay, scheduledTimeZone } = encounter;
  const optional = Object.entries({ additionalNotes, scheduledDay, scheduledTimeZone });
  const given = Object.fromEntries(optional.filter(([, value]) => value !== null));
  return { clinicId, patientId, serviceQueue, documentIds: documents.map(({ documentId }) => documentId), ...given };
}

/**
 * Replaces the schedule of an encounter in the queue; omitted fields are cleared.
 * @throws Problem schedule_*, encounter_not_found, clinic_not_permitted, invalid_state
 */
export function rescheduleEncounter(
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['RescheduleEncounterRequest'],
): Promise<EncounterRecord> {
  checkSchedule(body);
  return encounterCommand<{ readonly clinicZone: string | null }>(
    context,
    encounterNo,
    (state, at) => decideReschedule(state, body, at),
    async ({ db, caller }, which) => {
      const { tenantId } = caller;
      const where = Prisma.sql`is_primary AND clinic_id = ${columnOf(tenantId, 'clinic_id', which)}`;
      const [primary] = await findRows(db, tenantId, 'ClinicLocation', where);
      return { clinicZone: primary?.timezone ?? null };
    },
  );
}

/** @throws Problem invalid_state, schedule_time_zone_required, schedule_time_nonexistent */
export function decideReschedule(
  state: EncounterState & { readonly clinicZone: string | null },
  body: Bodies['RescheduleEncounterRequest'],
  { now }: Moment,
): Decision<EncounterState> {
  const { encounter } = state;
  nextState(encounter.status, 'reschedule', 'partner');
  const schedule = resolveSchedule(body, state.clinicZone);
  const columns = {
    scheduledDay: body.scheduledDay ?? null,
    scheduledTime: body.scheduledTime ?? null,
    scheduledTimeZone: body.scheduledTimeZone ?? null,
    scheduledAt: schedule.scheduledAt,
    claimableFrom: claimableFrom(encounter.reviewType, schedule, encounter.createdAt),
    expiresAt: expiresAt(schedule, now),
  };
  const rescheduled = moved(encounter, 'reschedule', 'partner', columns, now);
  return { state: { ...state, encounter: rescheduled }, events: [announced(rescheduled, 'encounter.rescheduled')] };
}
