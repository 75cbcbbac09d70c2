import type { Caller } from '../../context.js';
import type { Bodies } from '../../contract.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import type { Decision, Moment } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';
import { claimEnd, closed, decideExpiry, encounterCommand, moved, withNews } from './command.js';
import type { EncounterRecord, EncounterState } from './record.js';

type CancellingActor = 'partner' | 'provider';
type Body = Bodies['CancelEncounterRequest'];

/** The role in which the caller cancels, by its permissions. */
export function cancellingActor({ permissions }: Caller): CancellingActor {
  return permissions.has('review:encounter') ? 'provider' : 'partner';
}

/**
 * Cancels an open encounter and its undecided items. Keeps the reviewer of a claim on record.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state
 */
export const cancelEncounter = (
  context: CallerContext,
  encounterNo: bigint,
  body: Body,
  actor: CancellingActor,
): Promise<EncounterRecord> =>
  encounterCommand(context, encounterNo, (state, at) => decideCancellation(state, body, actor, at));

/** @throws Problem invalid_state */
export function decideCancellation(
  state: EncounterState,
  { reason }: Body,
  actor: CancellingActor,
  { now }: Moment,
): Decision<EncounterState> {
  const columns = { ...claimEnd, cancelReason: reason, cancelledAt: now };
  const encounter = closed(moved(state.encounter, 'cancel', actor, columns, now), 'cancelled');
  const patient = withNews(state, 'decisions', reason === 'clinically_inappropriate' ? 1 : 0);
  const event = told(encounter, 'encounter.cancelled', { ...numbersOf(encounter), reason });
  return { state: { ...state, encounter, patient }, events: [event] };
}

/**
 * Makes an encounter's deadline pass and expires it, for a sandbox. @throws Problem as {@link cancelEncounter}
 */
export const expireEncounter = (context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> =>
  encounterCommand(context, encounterNo, (state, at) =>
    decideExpiry({ ...state, encounter: { ...state.encounter, expiresAt: at.now } }, at),
  );
