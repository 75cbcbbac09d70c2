import { Prisma, type Encounter, type Patient } from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import type { FactKind } from '../approvals/coverage.js';
import { flush, followedBy, write, type Decision, type EventDraft, type Moment } from '../transactions/changes.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { permitted } from './lookup.js';
import { loadEncounter, stateRows, type EncounterRecord, type EncounterState } from './record.js';
import { dueEvent, nextState, type EncounterActor, type EncounterEvent } from './states.js';

/** A pure decision about an encounter. @throws Problem if it is refused */
export type DecideEncounter<More = object> = (state: EncounterState & More, at: Moment) => Decision<EncounterState>;

/**
 * Loads the encounter, decides, and writes. Deadlines that have passed apply even if no sweep has run. Concurrent
 * commands on one encounter run one after the other.
 * @param loadMore reads what else the decision needs, at the same time
 * @returns the encounter after the change
 * @throws Problem encounter_not_found, also if another tenant has it; clinic_not_permitted; those of loadMore and decide
 */
export async function encounterCommand<More extends object = object>(
  context: CallerContext,
  encounterNo: bigint,
  decide: DecideEncounter<More>,
  loadMore: (context: CallerContext, which: Prisma.Sql) => Promise<More> = async () => ({}) as More,
): Promise<EncounterRecord> {
  await flush(context);
  const { caller } = context;
  const which = Prisma.sql`encounter.encounter_no = ${encounterNo}`;
  // Send both loads together. Check access first: its problem precedes those of the loaded parts.
  const [loaded, loadedMore] = await Promise.allSettled([
    loadEncounter(context, caller.tenantId, which),
    loadMore(context, which),
  ]);
  const stored = fulfilled(loaded);
  if (!stored) throw new Problem('encounter_not_found');
  permitted(context, stored.encounter);
  const state = { ...stored, ...fulfilled(loadedMore) };
  // All parts of the change use one time.
  const at = { now: context.now(), newId: context.newId, caller };
  const elapsed = decideElapsed(state, at);
  const { state: decided, events } = decide({ ...state, ...elapsed.state }, at);
  write(context, at, caller.tenantId, stateRows(state), stateRows(decided), [...elapsed.events, ...events]);
  return decided.encounter;
}

function fulfilled<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'fulfilled') return result.value;
  throw result.reason;
}

/** Applies the deadlines that have passed to an encounter that a sweep has locked. */
export async function applyDeadline(context: TransactionContext, tenantId: string, id: string): Promise<void> {
  await flush(context);
  const state = await loadEncounter(context, tenantId, Prisma.sql`encounter.id = ${id}::uuid`, false);
  if (!state) return;
  const at = { now: context.now(), newId: context.newId, caller: null };
  const { state: after, events } = decideElapsed(state, at);
  write(context, at, tenantId, stateRows(state), stateRows(after), events);
}

/** The state after deadlines that have passed: the end of a claim, then the expiry. */
export function decideElapsed(state: EncounterState, at: Moment): Decision<EncounterState> {
  const due = dueEvent(state.encounter, at.now);
  if (due === null) return { state, events: [] };
  if (due === 'expire') return decideExpiry(state, at);
  return followedBy(decideRelease(state, 'lapse', 'system', at), (released) => decideElapsed(released, at));
}

/** Ends an encounter whose review or requested information did not come in time. */
export function decideExpiry(state: EncounterState, { now }: Moment): Decision<EncounterState> {
  const encounter = closed(moved(state.encounter, 'expire', 'system', {}, now), 'expired');
  return { state: { ...state, encounter }, events: [announced(encounter, 'encounter.expired')] };
}

/** Returns an encounter to the queue. */
export function decideRelease(
  state: EncounterState,
  event: 'release' | 'lapse',
  actor: EncounterActor,
  { now }: Moment,
): Decision<EncounterState> {
  const encounter = moved(state.encounter, event, actor, unclaimed, now);
  return { state: { ...state, encounter }, events: [announced(encounter, 'encounter.released')] };
}

/** Columns that are cleared when a claim ends. The columns that name the reviewer may stay. */
export const claimEnd = { leaseExpiresAt: null, visitUrl: null } as const;

/** All columns of a claim, cleared by a release, a lapse or a request for information. */
export const unclaimed = { ...claimEnd, reviewerRef: null, claimedById: null, claimedAt: null } as const;

/** The encounter after an event, with these columns. @throws Problem as {@link nextState} */
export function moved(
  encounter: EncounterRecord,
  event: EncounterEvent,
  actor: EncounterActor,
  columns: Partial<Encounter>,
  now: Date,
): EncounterRecord {
  const status = nextState(encounter.status, event, actor);
  return { ...encounter, ...columns, status, version: encounter.version + 1, updatedAt: now };
}

/** The encounter with its undecided items closed. */
export const closed = (encounter: EncounterRecord, status: 'cancelled' | 'expired'): EncounterRecord => ({
  ...encounter,
  gfeItems: encounter.gfeItems.map((item) => (item.status === 'pending_review' ? { ...item, status } : item)),
});

/** The patient after `count` changes of facts of this kind. */
export function withNews<P extends Pick<Patient, 'factsVersion' | 'factsChanges'>>(
  { patient }: { readonly patient: P },
  kind: FactKind,
  count = 1,
): P {
  if (count === 0) return patient;
  const factsVersion = patient.factsVersion + BigInt(count);
  return {
    ...patient,
    factsVersion,
    factsChanges: { ...(patient.factsChanges as object), [kind]: Number(factsVersion) },
  };
}

/** An event with only the encounter's identifiers. */
export const announced = (
  encounter: EncounterRecord,
  type: `encounter.${'review_started' | 'released' | 'information_requested' | 'information_provided' | 'rescheduled' | 'expired'}`,
): EventDraft => told(encounter, type, numbersOf(encounter));
