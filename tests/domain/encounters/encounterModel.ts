// A small model of an encounter's life, written from the table of the domain guide and not from the service's code, so
// that a test can compare the two.

export type ItemStatus = 'pending_review' | 'approved' | 'denied' | 'cancelled' | 'expired';
export type Status =
  | 'pending_review'
  | 'in_review'
  | 'awaiting_information'
  | 'completed'
  | 'denied'
  | 'cancelled'
  | 'expired';

/** The state of an encounter, in the model and in the database; times in milliseconds. */
export interface Snapshot {
  readonly status: Status;
  readonly reviewer: string | null;
  readonly claimedAt: number | null;
  readonly leaseEnds: number | null;
  readonly hasVisitUrl: boolean;
  readonly claimableFrom: number;
  /** The end of the wait for a review or for information. */
  readonly expiresAt: number;
  /** While a question is open: the `expiresAt` before the provider asked. */
  readonly openQuestion: number | null;
  /** The time of the latest information. */
  readonly informedAt: number | null;
  readonly version: number;
  readonly items: readonly ItemStatus[];
  readonly orders: number;
  readonly lines: number;
  /** Event types in order, without the prefix `encounter.` and without those of orders. */
  readonly events: readonly string[];
}

/** Properties that never change. */
export interface Given {
  readonly isLive: boolean;
  readonly createdAt: number;
}

/** An action. `decisions` are in the order of the pending items; an incomplete review leaves one out. */
export type Action =
  | { readonly type: 'claim'; readonly by: string; readonly leaseSeconds: number; readonly hasUrl: boolean }
  | { readonly type: 'release'; readonly by: string }
  | {
      readonly type: 'review';
      readonly by: string;
      readonly decisions: 'all' | 'first' | 'none' | 'incomplete';
      readonly visit: 'none' | 'now' | 'early' | 'late';
    }
  | { readonly type: 'ask'; readonly by: string }
  | { readonly type: 'inform' }
  /** `hours` from now; null clears the schedule. */
  | { readonly type: 'reschedule'; readonly hours: number | null }
  | { readonly type: 'cancel'; readonly by: 'partner' | 'provider' }
  | { readonly type: 'expire' }
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'sweepClaims' }
  | { readonly type: 'sweepExpired' };

/** `answer` is `done` or the code of the problem, with the state if the problem shows it. */
export interface Outcome {
  readonly answer: string;
  readonly after: Snapshot;
}

const open: readonly Status[] = ['pending_review', 'in_review', 'awaiting_information'];
const waiting: readonly Status[] = ['pending_review', 'awaiting_information'];
const day = 86_400_000;

/** The outcome of an action at a time. */
export function step(before: Snapshot, given: Given, action: Action, now: number): Outcome {
  const stays = (answer: string): Outcome => ({ answer, after: before });
  const isLapsed = before.status === 'in_review' && before.leaseEnds !== null && before.leaseEnds <= now;
  const lapsed = released(before);
  if (action.type === 'wait') return stays('done');
  if (action.type === 'sweepClaims') return isLapsed ? { answer: 'done', after: lapsed } : stays('done');
  if (action.type === 'sweepExpired') {
    const isDue = waiting.includes(before.status) && before.expiresAt <= now;
    return isDue ? { answer: 'done', after: ended(before, 'expired') } : stays('done');
  }
  // A deadline that has passed counts even before a sweep.
  const current = isLapsed ? lapsed : before;
  const isOver = waiting.includes(current.status) && current.expiresAt <= now;
  const state = isOver ? 'expired' : current.status;
  const refused = refusal(current, state, given, action, now);
  return refused === null ? { answer: 'done', after: changed(current, given, action, now) } : stays(refused);
}

function refusal(current: Snapshot, state: Status, given: Given, action: Action, now: number): string | null {
  const wrongState = `invalid_state ${state}`;
  if (!open.includes(state)) return wrongState;
  switch (action.type) {
    case 'claim':
      if (state === 'in_review') return current.reviewer === action.by ? null : 'claimed_by_other';
      if (state === 'awaiting_information') return wrongState;
      return now < current.claimableFrom ? `not_due ${new Date(current.claimableFrom).toISOString()}` : null;
    case 'release':
    case 'ask':
    case 'review':
      if (state !== 'in_review') return wrongState;
      if (current.reviewer !== action.by) return 'claimed_by_other';
      if (action.type !== 'review') return null;
      if (given.isLive && action.visit === 'none') return 'visit_required';
      if (action.visit === 'early' || action.visit === 'late') return 'validation_failed';
      return action.decisions === 'incomplete' ? 'decisions_incomplete' : null;
    case 'cancel':
    case 'inform':
      return null;
    case 'reschedule':
      return state === 'pending_review' ? null : wrongState;
    default:
      return state === 'in_review' ? wrongState : null;
  }
}

function changed(current: Snapshot, given: Given, action: Action, now: number): Snapshot {
  const version = current.version + 1;
  switch (action.type) {
    case 'claim': {
      const leaseEnds = now + action.leaseSeconds * 1000;
      const hasVisitUrl = current.hasVisitUrl || action.hasUrl;
      const lease = { leaseEnds, hasVisitUrl, version };
      if (current.status === 'in_review') return { ...current, ...lease };
      const events = [...current.events, 'review_started'];
      return { ...current, status: 'in_review', reviewer: action.by, claimedAt: now, ...lease, events };
    }
    case 'ask': {
      const question = { openQuestion: current.expiresAt, expiresAt: now + 14 * day };
      return { ...withoutClaim(current, 'information_requested'), ...question, status: 'awaiting_information' };
    }
    case 'inform': {
      const expiresAt = Math.max(current.openQuestion ?? current.expiresAt, now + 30 * day);
      const events = [...current.events, 'information_provided'];
      const answer = { openQuestion: null, informedAt: now, expiresAt, version, events };
      const status = current.status === 'awaiting_information' ? 'pending_review' : current.status;
      return { ...current, ...answer, status };
    }
    case 'reschedule': {
      const scheduledAt = action.hours === null ? null : now + action.hours * 3_600_000;
      const since = current.informedAt ?? given.createdAt;
      const claimableFrom = given.isLive && scheduledAt !== null ? scheduledAt - 15 * 60_000 : given.createdAt;
      const expiresAt = Math.max(since, scheduledAt ?? 0) + 30 * day;
      return { ...current, claimableFrom, expiresAt, version, events: [...current.events, 'rescheduled'] };
    }
    case 'release':
      return released(current);
    case 'review':
      return decided(current, action.decisions);
    case 'cancel':
      return ended(current, 'cancelled');
    default:
      return { ...ended(current, 'expired'), expiresAt: now };
  }
}

function released(current: Snapshot): Snapshot {
  return { ...withoutClaim(current, 'released'), status: 'pending_review' };
}

function withoutClaim(current: Snapshot, event: string): Snapshot {
  const [version, events] = [current.version + 1, [...current.events, event]];
  return { ...current, reviewer: null, claimedAt: null, leaseEnds: null, hasVisitUrl: false, version, events };
}

function decided(current: Snapshot, decisions: string): Snapshot {
  const first = current.items.indexOf('pending_review');
  const items = current.items.map((item, index): ItemStatus => {
    if (item !== 'pending_review') return item;
    return decisions === 'all' || (decisions === 'first' && index === first) ? 'approved' : 'denied';
  });
  const lines = items.filter((item) => item === 'approved').length;
  const status = lines > 0 ? 'completed' : 'denied';
  return { ...closed(current, status, items), lines, orders: lines > 0 ? 1 : 0 };
}

function ended(current: Snapshot, status: 'cancelled' | 'expired'): Snapshot {
  return closed(
    current,
    status,
    current.items.map((item) => (item === 'pending_review' ? status : item)),
  );
}

function closed(current: Snapshot, status: Status, items: readonly ItemStatus[]): Snapshot {
  const [version, events] = [current.version + 1, [...current.events, status]];
  return { ...current, status, items, leaseEnds: null, hasVisitUrl: false, version, events };
}
