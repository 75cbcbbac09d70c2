import type { Caller } from '../../context.js';
import type { Bodies } from '../../contract.js';
import type { EncounterRecord } from './encounters.js';
import { changeEncounter, claimEnd, closeItems, expiry } from './transitions.js';
import { countFacts } from '../patients/facts.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import type { CallerContext } from '../transactions/transaction.js';

type CancellingActor = 'partner' | 'provider';

/** The role in which the caller cancels, by its permissions. */
export function cancellingActor({ permissions }: Caller): CancellingActor {
  return permissions.has('review:encounter') ? 'provider' : 'partner';
}

/**
 * Cancels an open encounter and its undecided items. Keeps the reviewer of a claim on record.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state
 */
export function cancelEncounter(
  context: CallerContext,
  encounterNo: bigint,
  { reason }: Bodies['CancelEncounterRequest'],
  actor: CancellingActor,
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (_encounter, now) => ({
    event: 'cancel',
    actor,
    set: { ...claimEnd, cancelReason: reason, cancelledAt: now },
    async effects(transaction, encounter) {
      const gfeItems = await closeItems(transaction, encounter, 'cancelled');
      if (reason === 'clinically_inappropriate') await countFacts(transaction, encounter);
      recordEvent(transaction, encounter, 'encounter.cancelled', { ...numbersOf(encounter), reason });
      return { gfeItems };
    },
  }));
}

/**
 * Makes an encounter's deadline pass and expires it, for a sandbox. @throws Problem as {@link cancelEncounter}
 */
export function expireEncounter(context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (_encounter, now) => ({ ...expiry, set: { expiresAt: now } }));
}
