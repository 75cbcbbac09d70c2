import type { Caller } from '../../context.js';
import type { Bodies } from '../../contract.js';
import type { EncounterRecord } from './encounters.js';
import { changeEncounter, closeItems, expiry, numbersOf } from './transitions.js';
import { recordEvent } from '../events/record.js';
import type { CallerContext } from '../transactions/transaction.js';

type CancelRequest = Bodies['CancelEncounterRequest'];
export type CancellingActor = 'partner' | 'provider';

/** Who cancels, by its permissions: a reviewing system may cancel what is under review. */
export function cancellingActor({ permissions }: Caller): CancellingActor {
  return permissions.has('review:encounter') ? 'provider' : 'partner';
}

/**
 * Gives up an encounter that waits for its review, and its open items; a provider also one that any reviewer has claimed
 * . The reviewer stays on record.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state
 */
export function cancelEncounter(
  context: CallerContext,
  encounterNo: bigint,
  { reason }: CancelRequest,
  actor: CancellingActor,
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (_encounter, now) => ({
    event: 'cancel',
    actor,
    set: { cancelReason: reason, cancelledAt: now, leaseExpiresAt: null },
    async effects(transaction, encounter) {
      await closeItems(transaction, encounter, 'cancelled');
      recordEvent(transaction, encounter, 'encounter.cancelled', { ...numbersOf(encounter), reason });
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
