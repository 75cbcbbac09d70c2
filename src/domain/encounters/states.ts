import type { Encounter } from '../../../generated/prisma/client.js';
import type { EncounterState } from '../../contract.js';
import { invalidState, Problem } from '../../problem.js';

/** Who makes it happen; `claimant` is the provider that has the encounter, `system` is the passing of time. */
export type EncounterActor = 'partner' | 'provider' | 'claimant' | 'system';

/** What can happen to an encounter. */
export type EncounterEvent =
  | ('claim' | 'renew' | 'release' | 'lapse' | 'approve' | 'deny' | 'ask')
  | ('inform' | 'reschedule' | 'cancel' | 'expire' | 'revoke' | 'amend');

/** Where an event leads, and who may cause it. */
interface Transition {
  readonly to: EncounterState;
  readonly by: readonly EncounterActor[];
}

/**
 * The life of an encounter. What is not in the table is not possible. A new encounter is `pending_review`, or
 * `completed` when earlier approvals cover all of it. A review with at least one approved item is `approve`, one
 * with none is `deny`; `ask` and `inform` are the provider's question and the partner's information; `revoke` takes
 * approvals back, `amend` adds to a review that is over.
 */
export const encounterTransitions = {
  pending_review: {
    claim: { to: 'in_review', by: ['provider'] },
    reschedule: { to: 'pending_review', by: ['partner'] },
    cancel: { to: 'cancelled', by: ['partner', 'provider'] },
    expire: { to: 'expired', by: ['system'] },
  },
  in_review: {
    renew: { to: 'in_review', by: ['claimant'] },
    release: { to: 'pending_review', by: ['claimant'] },
    lapse: { to: 'pending_review', by: ['system'] },
    approve: { to: 'completed', by: ['claimant'] },
    deny: { to: 'denied', by: ['claimant'] },
    ask: { to: 'awaiting_information', by: ['claimant'] },
    cancel: { to: 'cancelled', by: ['partner', 'provider'] },
  },
  awaiting_information: {
    inform: { to: 'pending_review', by: ['partner'] },
    cancel: { to: 'cancelled', by: ['partner', 'provider'] },
    expire: { to: 'expired', by: ['system'] },
  },
  completed: {
    revoke: { to: 'completed', by: ['provider'] },
    amend: { to: 'completed', by: ['provider'] },
  },
  denied: {
    amend: { to: 'denied', by: ['provider'] },
  },
  cancelled: {},
  expired: {},
} as const satisfies Record<EncounterState, Partial<Record<EncounterEvent, Transition>>>;

/**
 * The state after an event.
 * @throws Problem invalid_state with `current_status` when the table has no such way; claimed_by_other when it is open
 * only to the provider that has the encounter
 */
export function nextState(from: EncounterState, event: EncounterEvent, actor: EncounterActor): EncounterState {
  const transitions: Partial<Record<EncounterEvent, Transition>> = encounterTransitions[from];
  const { [event]: transition } = transitions;
  if (transition?.by.includes(actor)) return transition.to;
  if (actor === 'provider' && transition?.by.includes('claimant')) throw new Problem('claimed_by_other');
  throw invalidState(from);
}

/** What the passing of time depends on; a lease is there exactly while `in_review`. */
type Deadlines = Pick<Encounter, 'status' | 'leaseExpiresAt' | 'expiresAt'>;

/** What the passing of time has done to an encounter by now, whether or not it has been written; null = nothing. */
export function dueEvent({ status, leaseExpiresAt, expiresAt }: Deadlines, now: Date): 'lapse' | 'expire' | null {
  if (status === 'in_review') return leaseExpiresAt !== null && now >= leaseExpiresAt ? 'lapse' : null;
  return 'expire' in encounterTransitions[status] && now >= expiresAt ? 'expire' : null;
}
