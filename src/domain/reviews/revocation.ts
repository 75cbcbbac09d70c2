import type { GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { revokeGiven } from '../approvals/endings.js';
import { statusAt } from '../approvals/inForce.js';
import { itemKey, type ItemIdentity } from '../catalog/itemKey.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import { nextState } from '../encounters/states.js';
import { changeEncounter, itemsOf } from '../encounters/transitions.js';
import { countFacts } from '../patients/facts.js';
import { requireLicenceAfterReview } from '../providers/licences.js';
import type { CallerContext } from '../transactions/transaction.js';

/**
 * Revokes approvals of a completed encounter. Encounter and order stay.
 * @throws Problem encounter_not_found, clinic_not_permitted; invalid_state, also if an item is no longer approved;
 * provider_not_licensed; validation_failed if an item is not one of the encounter's, or is named twice
 */
export function revokeApprovals(
  context: CallerContext,
  encounterNo: bigint,
  { items, ...revocation }: Bodies['RevokeApprovalsRequest'],
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, async (encounter, now) => {
    nextState(encounter.status, 'revoke', 'provider');
    await requireLicenceAfterReview(context, encounter, revocation.reviewerRef, now);
    const named = namedItems(encounter, items);
    requireApproved(named, now);
    return {
      event: 'revoke',
      actor: 'provider',
      set: {},
      async effects(transaction, completed) {
        await countFacts(transaction, completed);
        await revokeGiven(transaction, completed, named, revocation);
        return { gfeItems: await itemsOf(transaction.db, completed) };
      },
    };
  });
}

function namedItems({ gfeItems }: EncounterRecord, items: readonly ItemIdentity[]): GfeItem[] {
  const keys = items.map(itemKey);
  const known = new Map(gfeItems.map((item) => [itemKey(item), item]));
  const errors = keys.flatMap((key, index): FieldError[] => {
    const pointer = `#/items/${index}`;
    if (!known.has(key)) return [{ pointer, code: 'unknown', detail: 'names no item of this encounter' }];
    if (keys.indexOf(key) === index) return [];
    return [{ pointer, code: 'uniqueItems', detail: 'must not repeat an earlier item' }];
  });
  if (errors.length > 0) throw new Problem('validation_failed', undefined, { errors });
  return keys.flatMap((key) => known.get(key) ?? []);
}

/** Checks that every item is approved and not expired. @throws Problem invalid_state */
function requireApproved(items: readonly GfeItem[], now: Date): void {
  const statuses = items.map((item) => statusAt(item, now));
  const errors = statuses.flatMap((status, index): FieldError[] => {
    const error = { pointer: `#/items/${index}`, code: 'invalid_state', detail: `is ${status}, not approved` };
    return status === 'approved' ? [] : [error];
  });
  const current_status = statuses.find((status) => status !== 'approved');
  if (current_status) throw new Problem('invalid_state', undefined, { errors, extra: { current_status } });
}
