import type { Schemas } from '../../contract.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import { changeEncounter } from '../encounters/transitions.js';
import { insertRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';

/**
 * Adds a note to a review that is over; what was decided stays.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state
 */
export function addAddendum(
  context: CallerContext,
  encounterNo: bigint,
  addendum: Schemas['AddAddendumRequest'],
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (_encounter, addedAt) => ({
    event: 'amend',
    actor: 'provider',
    set: {},
    async effects({ db, newId }, { tenantId, id: encounterId }) {
      await insertRows(db, tenantId, 'EncounterAddendum', [{ id: newId(), encounterId, addedAt, ...addendum }]);
    },
  }));
}
