import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../../../generated/prisma/client.js';
import type { Bodies, Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { draftEncounter, type EncounterDraft, type EncounterRequest } from './draft.js';
import { draftedColumns, draftedParts, getEncounter, type EncounterRecord } from './encounters.js';
import { refuse, refuseRepeatedIds } from './references.js';
import { checkSchedule, claimableFrom, expiresAt, resolveSchedule } from './schedule.js';
import { nextState } from './states.js';
import {
  announce,
  applyElapsedTime,
  changeEncounter,
  itemsOf,
  lockEncounter,
  type Change,
  type ChangedParts,
} from './transitions.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { patchedMetadata } from '../patients/metadata.js';
import { tenantInsertion, withParts } from '../transactions/bulkSql.js';
import { findRows, updateRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';

type Patch = Schemas['EncounterPatch'];

/** The fields of an encounter that a patch may change. */
type Fields = Pick<EncounterRecord, 'reference' | 'metadata' | 'reviewType'> & {
  readonly treatmentIds: readonly string[];
};

/**
 * Applies a merge patch, and emits encounter.updated with the names of the changed fields. Reference and metadata may change in
 * every status; treatments and the type of review only in the queue, by the checks of creation.
 * @param isExpected whether the caller knows the present version
 * @throws Problem encounter_not_found, clinic_not_permitted, version_conflict, validation_failed, invalid_state, and those of
 * `createEncounter`
 */
export async function updateEncounter(
  context: CallerContext,
  encounterNo: bigint,
  patch: Patch,
  isExpected: (version: number) => boolean,
): Promise<EncounterRecord> {
  refuseRepeatedIds(patch);
  await lockEncounter(context, encounterNo);
  const encounter = await getEncounter(context, encounterNo);
  if (!isExpected(encounter.version)) throw new Problem('version_conflict');
  const isRevision = 'treatmentIds' in patch || 'reviewType' in patch;
  if (isRevision) nextState(applyElapsedTime(encounter, context.now()).status, 'revise', 'partner');
  const { changed, ...fields } = patched(encounter, patch);
  if (changed.length === 0) return encounter;
  if (changed.includes('treatmentIds') || changed.includes('reviewType')) {
    return changeEncounter(context, encounterNo, (current, now) => revision(context, current, fields, changed, now));
  }
  const { reference, metadata } = fields;
  const set = { reference, metadata, version: encounter.version + 1, updatedAt: context.now() };
  await updateRows(context.db, encounter.tenantId, 'Encounter', set, Prisma.sql`id = ${encounter.id}::uuid`);
  return recordUpdate(context, { ...encounter, ...set }, changed);
}

/** The fields after the patch, and the names of those that it changes. */
function patched(encounter: EncounterRecord, patch: Patch): Fields & { readonly changed: (keyof Fields)[] } {
  const { reference, metadata, reviewType, treatments } = encounter;
  const before = { reference, metadata, reviewType, treatmentIds: treatments.map(({ productId }) => productId) };
  const after = {
    ...before,
    ...patch,
    treatmentIds: patch.treatmentIds?.map(canonicalUuid) ?? before.treatmentIds,
    metadata: 'metadata' in patch ? (patchedMetadata(metadata, patch.metadata) as Fields['metadata']) : metadata,
  };
  const fields = Object.keys(patch) as (keyof Fields)[];
  return { ...after, changed: fields.filter((field) => !isDeepStrictEqual(after[field], before[field])) };
}

/** Makes the encounter's draft again from its request, with other treatments or another type of review. */
async function revision(
  context: CallerContext,
  encounter: EncounterRecord,
  { treatmentIds, reviewType, reference, metadata }: Fields,
  changed: readonly (keyof Fields)[],
  now: Date,
): Promise<Change<EncounterRecord>> {
  const request = { ...requestOf(encounter), treatmentIds: [...treatmentIds], reviewType };
  const draft = await draftEncounter({ ...context, now: () => now }, request);
  // Ignore documents that were withdrawn since the creation: the encounter keeps them.
  const failing = draft.faults.find(([fault]) => fault?.code !== 'document_withdrawn');
  if (failing) throw refuse(failing);
  const schedule = { ...draft.schedule, scheduledAt: encounter.scheduledAt };
  const columns = draftedColumns({ ...draft, schedule }, reviewType, encounter.createdAt);
  const set = { reference, metadata, ...columns };
  return {
    event: 'revise',
    actor: 'partner',
    set,
    async effects(transaction) {
      const parts = await replaceParts(transaction, encounter, draft);
      recordUpdate(transaction, { ...encounter, ...set, ...parts }, changed);
      return parts;
    },
  };
}

/** An encounter's request without its time: that instant stays, even if the clinic's zone has changed. */
function requestOf(encounter: EncounterRecord): Omit<EncounterRequest, 'treatmentIds' | 'reviewType'> {
  const { clinicId, patientId, serviceQueue, documents } = encounter;
  const { additionalNotes, scheduledDay, scheduledTimeZone } = encounter;
  const optional = Object.entries({ additionalNotes, scheduledDay, scheduledTimeZone });
  const given = Object.fromEntries(optional.filter(([, value]) => value !== null));
  return { clinicId, patientId, serviceQueue, documentIds: documents.map(({ documentId }) => documentId), ...given };
}

async function replaceParts(
  { db }: TransactionContext,
  encounter: EncounterRecord,
  draft: EncounterDraft,
): Promise<Required<Pick<ChangedParts, 'treatments' | 'gfeItems'>>> {
  const { tenantId, id } = encounter;
  const { gfe_item, encounter_treatment } = draftedParts(draft, encounter);
  const tenant = db.of(tenantId);
  const where = Prisma.sql`WHERE tenant_id = ${tenantId} AND encounter_id = ${id}::uuid`;
  await tenant.run(
    withParts([Prisma.sql`DELETE FROM gfe_item ${where}`], Prisma.sql`DELETE FROM encounter_treatment ${where}`),
  );
  const items = tenantInsertion(tenantId, 'gfe_item', gfe_item);
  await tenant.run(withParts([items], tenantInsertion(tenantId, 'encounter_treatment', encounter_treatment)));
  const inOrder = Prisma.sql`encounter_id = ${id}::uuid ORDER BY position`;
  return {
    treatments: await findRows(db, tenantId, 'EncounterTreatment', inOrder),
    gfeItems: await itemsOf(db, encounter),
  };
}

function recordUpdate(
  context: TransactionContext,
  encounter: EncounterRecord,
  changed: readonly (keyof Fields)[],
): EncounterRecord {
  recordEvent(context, encounter, 'encounter.updated', { ...numbersOf(encounter), changed: [...changed] });
  return encounter;
}

/**
 * Replaces the schedule of an encounter in the queue; omitted fields are cleared.
 * @throws Problem schedule_*, encounter_not_found, clinic_not_permitted, invalid_state
 */
export async function rescheduleEncounter(
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['RescheduleEncounterRequest'],
): Promise<EncounterRecord> {
  checkSchedule(body);
  return changeEncounter(context, encounterNo, async (encounter) => {
    nextState(encounter.status, 'reschedule', 'partner');
    const { reviewType, createdAt } = encounter;
    const schedule = resolveSchedule(body, await clinicZone(context, encounter));
    return {
      event: 'reschedule',
      actor: 'partner',
      set: {
        scheduledDay: body.scheduledDay ?? null,
        scheduledTime: body.scheduledTime ?? null,
        scheduledTimeZone: body.scheduledTimeZone ?? null,
        scheduledAt: schedule.scheduledAt,
        claimableFrom: claimableFrom(reviewType, schedule, createdAt),
        expiresAt: expiresAt(schedule, await waitsSince(context, encounter)),
      },
      effects: announce('encounter.rescheduled'),
    };
  });
}

async function clinicZone({ db }: CallerContext, { tenantId, clinicId }: EncounterRecord): Promise<string | null> {
  const where = Prisma.sql`clinic_id = ${clinicId}::uuid AND is_primary`;
  const [primary] = await findRows(db, tenantId, 'ClinicLocation', where);
  return primary?.timezone ?? null;
}

/** When the encounter began to wait for a review: at its creation, or when the latest information came. */
async function waitsSince({ db }: CallerContext, { tenantId, id, createdAt }: EncounterRecord): Promise<Date> {
  const where = Prisma.sql`encounter_id = ${id}::uuid AND provided_at IS NOT NULL ORDER BY provided_at DESC LIMIT 1`;
  const [latest] = await findRows(db, tenantId, 'EncounterInformation', where);
  return latest?.providedAt ?? createdAt;
}
