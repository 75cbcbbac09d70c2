import type { Caller } from '../../context.js';
import type { Bodies } from '../../contract.js';
import type { EncounterRecord } from './encounters.js';
import { changeEncounter, claimEnd, closeItems, expiry, numbersOf } from './transitions.js';
import { recordEvent } from '../events/record.js';
import type { CallerContext } from '../transactions/transaction.js';

type CancellingActor = 'partner' | 'provider';

/** Who cancels, by its permissions. */
export function cancellingActor({ permissions }: Caller): CancellingActor {
  return permissions.has('review:encounter') ? 'provider' : 'partner';
}

/**
 * Gives up an encounter that is not over, with its open items; a reviewer that has it stays on record.
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
      recordEvent(transaction, encounter, 'encounter.cancelled', { ...numbersOf(encounter), reason });
      return { gfeItems };
    },
  }));
}

/**
 * Gives up an encounter as if nobody had reviewed it in time, whatever its time is.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state
 */
export function expireEncounter(context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, () => expiry);
}
