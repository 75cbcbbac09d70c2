import type { Encounter } from '../../../generated/prisma/client.js';
import type { EncounterState } from '../../contract.js';
import { invalidState, Problem } from '../../problem.js';
import type { Moment } from '../transactions/changes.js';

/** Who causes an event. `claimant` is the provider that holds the claim; `system` applies deadlines. */
export type EncounterActor = 'partner' | 'provider' | 'claimant' | 'system';

export type EncounterEvent =
  | ('claim' | 'renew' | 'release' | 'lapse' | 'approve' | 'deny' | 'ask')
  | ('inform' | 'reschedule' | 'revise' | 'cancel' | 'expire' | 'revoke' | 'amend');

/** The status after an event, and the actors that may cause it. */
interface Transition {
  readonly to: EncounterState;
  readonly by: readonly EncounterActor[];
}

/**
 * All transitions of an encounter. A new encounter is `pending_review`. A review with at least one approved item is
 * `approve`, one with none is `deny`. `ask` requests information and `inform` provides it; `revise` changes treatments,
 * type of review or `patientState`; `revoke` takes approvals back; `amend` adds an addendum to a finished review.
 */
export const encounterTransitions = {
  pending_review: {
    claim: { to: 'in_review', by: ['provider'] },
    inform: { to: 'pending_review', by: ['partner'] },
    reschedule: { to: 'pending_review', by: ['partner'] },
    revise: { to: 'pending_review', by: ['partner'] },
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
    inform: { to: 'in_review', by: ['partner'] },
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

/** Words for the sentence that refuses an event: "An encounter that is … cannot be …". */
const participles: Readonly<Record<EncounterEvent, string>> = {
  claim: 'claimed',
  renew: 'claimed',
  release: 'released',
  lapse: 'released',
  approve: 'reviewed',
  deny: 'reviewed',
  ask: 'sent back with a question',
  inform: 'given information',
  reschedule: 'rescheduled',
  revise: 'given other treatments, another type of review or another patientState',
  cancel: 'cancelled',
  expire: 'expired',
  revoke: 'revoked',
  amend: 'given an addendum',
};

/** For some refused events, a sentence about the step that makes them possible; otherwise empty. */
function remedyOf(from: EncounterState, event: EncounterEvent): string {
  const isOfQueue = ['claim', 'reschedule', 'revise', 'expire'].includes(event);
  const isOfReview = ['approve', 'ask'].includes(event);
  if (from === 'pending_review' && isOfReview) return ' Claim it first.';
  if (from === 'in_review' && isOfQueue) return ' Wait until the claim ends.';
  const isFinal = ['completed', 'denied', 'cancelled', 'expired'].includes(from);
  if (isFinal && ['inform', 'reschedule', 'revise'].includes(event)) return ' Create a new encounter.';
  if (!isFinal && event === 'amend') return ' Review it first.';
  if (!isFinal && event === 'revoke') return ' Cancel it instead.';
  if (from === 'completed' && event === 'cancel') return ' Cancel its orders, or revoke its approvals.';
  const isBlocked = from === 'awaiting_information' && (isOfQueue || isOfReview);
  return isBlocked ? ' The partner must send the information first.' : '';
}

/**
 * The status after an event. @throws Problem invalid_state if not allowed; claimed_by_other if only the claimant may
 */
export function nextState(from: EncounterState, event: EncounterEvent, actor: EncounterActor): EncounterState {
  const transitions: Partial<Record<EncounterEvent, Transition>> = encounterTransitions[from];
  const { [event]: transition } = transitions;
  if (transition?.by.includes(actor)) return transition.to;
  if (actor === 'provider' && transition?.by.includes('claimant')) throw new Problem('claimed_by_other');
  throw invalidState(from, `An encounter that is ${from} cannot be ${participles[event]}.${remedyOf(from, event)}`);
}

/** The columns with deadlines. `leaseExpiresAt` is not null exactly while the status is `in_review`. */
type Deadlines = Pick<Encounter, 'status' | 'leaseExpiresAt' | 'expiresAt'>;

/** The event of a deadline that has passed and that no sweep has applied yet; null = there is none. */
export function dueEvent({ status, leaseExpiresAt, expiresAt }: Deadlines, now: Date): 'lapse' | 'expire' | null {
  if (status === 'in_review') return leaseExpiresAt !== null && now >= leaseExpiresAt ? 'lapse' : null;
  return 'expire' in encounterTransitions[status] && now >= expiresAt ? 'expire' : null;
}

/** The provider who sends a request, named by the reviewing system's own reference. */
export interface Reviewer {
  readonly reviewerRef: string;
}

/**
 * The role of a reviewer toward an encounter. References are compared exactly as sent, and belong to the API client
 * that sends them: the same reference from another client means another provider. A sandbox fixture's claim has no
 * client, so that any may continue it.
 */
export function actorOf(
  { caller }: Pick<Moment, 'caller'>,
  encounter: Pick<Encounter, 'claimedById' | 'reviewerRef'>,
  { reviewerRef }: Reviewer,
): EncounterActor {
  const isOfClient = encounter.claimedById === null || encounter.claimedById === caller?.apiClientId;
  return isOfClient && encounter.reviewerRef === reviewerRef ? 'claimant' : 'provider';
}
