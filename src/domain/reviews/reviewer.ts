import type { EncounterRecord } from '../encounters/encounters.js';
import type { EncounterActor } from '../encounters/states.js';
import type { CallerContext } from '../transactions/transaction.js';

/** The provider of a request, by the reviewing system's own reference. */
export interface Reviewer {
  readonly reviewerRef: string;
}

/**
 * The actor that a reviewer is. References are compared exactly as sent, and belong to the API client that sends them: the
 * same reference from another client is another provider.
 */
export function actorOf(
  { caller }: Pick<CallerContext, 'caller'>,
  encounter: Pick<EncounterRecord, 'claimedById' | 'reviewerRef'>,
  { reviewerRef }: Reviewer,
): EncounterActor {
  const isOfClient = encounter.claimedById === null || encounter.claimedById === caller.apiClientId;
  return isOfClient && encounter.reviewerRef === reviewerRef ? 'claimant' : 'provider';
}
