import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import { getEncounter, type EncounterRecord } from './encounters.js';
import { dueEvent, nextState, type EncounterActor, type EncounterEvent } from './states.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { findRows, updatedRows, updateRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';

/** The columns that a transition reads. */
export type EncounterRow = Pick<
  Encounter,
  'tenantId' | 'id' | 'encounterNo' | 'gfeNo' | 'reference' | 'clinicId' | 'status' | 'version'
>;

/** A transition of an encounter and everything that it writes. */
export interface Change<Row> {
  readonly event: EncounterEvent;
  readonly actor: EncounterActor;
  /** New values of the encounter's columns, except status and version. */
  readonly set: Partial<Encounter>;
  /** Writes the rest: items, order, events. Gets the encounter before the change; returns the changed parts. */
  readonly effects: (context: TransactionContext, encounter: Row) => Promise<ChangedParts> | ChangedParts;
}

/** The parts of an encounter that a change has replaced. */
export type ChangedParts = Partial<Pick<EncounterRecord, 'treatments' | 'documents' | 'gfeItems' | 'order'>>;

/** Columns that are cleared when a claim ends. The columns that name the reviewer may stay. */
export const claimEnd = { leaseExpiresAt: null, visitUrl: null } as const;

/** All columns of a claim, as they are in an encounter without one. */
export const unclaimed = { ...claimEnd, reviewerRef: null, claimedById: null, claimedAt: null } as const;

/**
 * Locks until the commit: first the patient, whose approvals the change may end, then the encounter. Other requests
 * wait for the locks; sweeps skip the encounter.
 */
export async function lockEncounter({ db, caller }: CallerContext, encounterNo: bigint): Promise<void> {
  const { tenantId } = caller;
  await db.of(tenantId).run`
    SELECT FROM client WHERE tenant_id = ${tenantId} AND id = (
      SELECT patient_id FROM encounter WHERE tenant_id = ${tenantId} AND encounter_no = ${encounterNo})
    FOR NO KEY UPDATE`;
  await db.of(tenantId).run`
    SELECT FROM encounter WHERE tenant_id = ${tenantId} AND encounter_no = ${encounterNo} FOR UPDATE`;
}

/**
 * Makes a transition for a caller. Deadlines that have passed apply even if no sweep has run. Concurrent calls
 * run one after the other: one succeeds, the others get a problem.
 * @param decide returns the change of the current encounter, or throws if the change is not allowed
 * @returns the encounter after the change
 * @throws Problem encounter_not_found, also if another tenant has it; clinic_not_permitted; and the errors of `decide`
 */
export async function changeEncounter(
  context: CallerContext,
  encounterNo: bigint,
  decide: (encounter: EncounterRecord, now: Date) => Change<EncounterRecord> | Promise<Change<EncounterRecord>>,
): Promise<EncounterRecord> {
  await lockEncounter(context, encounterNo);
  const stored = await getEncounter(context, encounterNo);
  const now = context.now();
  const current = applyElapsedTime(stored, now);
  const change = await decide(current, now);
  // All parts of the change use one time.
  const moment = { ...context, now: () => now };
  if (current.version > stored.version) await applyChange(moment, stored, lapse);
  const changed = await applyChange(moment, current, change);
  if (!changed) throw new Error('an encounter changed although it was locked');
  return changed;
}

/** The encounter after deadlines that have passed. The caller stores the end of a claim; a sweep stores an expiry. */
export function applyElapsedTime<E extends Encounter>(encounter: E, now: Date): E {
  const due = dueEvent(encounter, now);
  if (due === 'expire') return { ...encounter, status: 'expired' };
  if (due === null) return encounter;
  const status = nextState(encounter.status, due, 'system');
  return applyElapsedTime({ ...encounter, ...unclaimed, status, version: encounter.version + 1 }, now);
}

/** Writes a transition; null and no change if the version differs. @throws Problem as {@link nextState} */
export async function applyChange<Row extends EncounterRow>(
  context: TransactionContext,
  encounter: Row,
  { event, actor, set, effects }: Change<Row>,
): Promise<Row | null> {
  const { tenantId, id, status, version } = encounter;
  const isUnchanged = Prisma.sql`id = ${id}::uuid AND status = ${status}::encounter_status AND version = ${version}`;
  const next = { ...set, status: nextState(status, event, actor), version: version + 1, updatedAt: context.now() };
  const [updated] = await updatedRows(context.db, tenantId, 'Encounter', next, isUnchanged);
  return updated ? { ...encounter, ...updated, ...(await effects(context, encounter)) } : null;
}

/** Returns an encounter to the queue. */
export const release: Pick<Change<EncounterRow>, 'set' | 'effects'> = {
  set: unclaimed,
  effects: announce('encounter.released'),
};

/** Returns an encounter to the queue because its lease has ended. */
export const lapse: Change<EncounterRow> = { event: 'lapse', actor: 'system', ...release };

/** Ends an encounter whose review or requested information did not come in time. */
export const expiry: Change<EncounterRow> = {
  event: 'expire',
  actor: 'system',
  set: {},
  async effects(context, encounter) {
    const gfeItems = await closeItems(context, encounter, 'expired');
    recordEvent(context, encounter, 'encounter.expired', numbersOf(encounter));
    return { gfeItems };
  },
};

/** Closes the undecided items of an encounter. @returns all items */
export async function closeItems(
  { db }: TransactionContext,
  encounter: EncounterRow,
  status: 'cancelled' | 'expired',
): Promise<GfeItem[]> {
  const { tenantId, id } = encounter;
  const isOpen = Prisma.sql`encounter_id = ${id}::uuid AND status = 'pending_review'`;
  await updateRows(db, tenantId, 'GfeItem', { status }, isOpen);
  return itemsOf(db, encounter);
}

/** The items of an encounter, in their order. */
export function itemsOf(
  db: TransactionContext['db'],
  { tenantId, id }: Pick<EncounterRow, 'tenantId' | 'id'>,
): Promise<GfeItem[]> {
  return findRows(db, tenantId, 'GfeItem', Prisma.sql`encounter_id = ${id}::uuid ORDER BY position`);
}

/** Creates an effect that records an event with only the encounter's identifiers. */
export function announce(
  type: `encounter.${'review_started' | 'released' | 'information_requested' | 'information_provided' | 'rescheduled'}`,
): (context: TransactionContext, encounter: EncounterRow) => ChangedParts {
  return (context, encounter) => {
    recordEvent(context, encounter, type, numbersOf(encounter));
    return {};
  };
}
