import { Prisma } from '../../../generated/prisma/client.js';
import type { Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import { nextState } from '../encounters/states.js';
import { changeEncounter } from '../encounters/transitions.js';
import { requireLicenceAfterReview } from '../providers/licences.js';
import { findRows, insertRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';

/** Maximum of addenda per encounter. */
const MAX_ADDENDA = 100;

/**
 * Adds a note to a finished review; the decisions stay.
 * @throws Problem, in this order, encounter_not_found; clinic_not_permitted; invalid_state; provider_not_licensed;
 * too_many_records
 */
export function addAddendum(
  context: CallerContext,
  encounterNo: bigint,
  addendum: Schemas['AddAddendumRequest'],
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, async (encounter, addedAt) => {
    nextState(encounter.status, 'amend', 'provider');
    await requireLicenceAfterReview(context, encounter, addendum.reviewerRef, addedAt);
    return {
      event: 'amend',
      actor: 'provider',
      set: {},
      async effects({ db, newId }, { tenantId, id: encounterId }) {
        const where = Prisma.sql`encounter_id = ${encounterId}::uuid`;
        if ((await findRows(db, tenantId, 'EncounterAddendum', where)).length >= MAX_ADDENDA) {
          throw new Problem('too_many_records');
        }
        await insertRows(db, tenantId, 'EncounterAddendum', [{ id: newId(), encounterId, addedAt, ...addendum }]);
        return {};
      },
    };
  });
}
