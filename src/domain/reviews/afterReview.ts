import type { GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies, Schemas } from '../../contract.js';
import { invalidState, Problem, type FieldError } from '../../problem.js';
import { statusAt } from '../approvals/coverage.js';
import { itemKey, type ItemIdentity } from '../catalog/itemKey.js';
import { encounterCommand, moved, withNews } from '../encounters/command.js';
import type { EncounterRecord, EncounterState } from '../encounters/record.js';
import { nextState } from '../encounters/states.js';
import { loadProvider, requireKnownProvider, type WithProvider } from '../providers/licenses.js';
import type { Decision, Moment } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';
import { endApprovals } from './endings.js';

/** Maximum of addenda per encounter. */
const MAX_ADDENDA = 100;

/**
 * Adds a note to a finished review; the decisions stay.
 * @throws Problem encounter_not_found, clinic_not_permitted, and those of {@link decideAddendum}
 */
export const addAddendum = (
  context: CallerContext,
  encounterNo: bigint,
  addendum: Schemas['AddAddendumRequest'],
): Promise<EncounterRecord> =>
  encounterCommand<WithProvider>(
    context,
    encounterNo,
    (state, at) => decideAddendum(state, addendum, at),
    loadProvider(addendum.reviewerRef),
  );

/** @throws Problem, in this order, invalid_state; provider_not_licensed; too_many_records */
export function decideAddendum(
  state: EncounterState & WithProvider,
  addendum: Schemas['AddAddendumRequest'],
  { now, newId }: Moment,
): Decision<EncounterState> {
  const { tenantId, id: encounterId, status, addenda } = state.encounter;
  nextState(status, 'amend', 'provider');
  requireKnownProvider(state);
  if (addenda.length >= MAX_ADDENDA) throw new Problem('too_many_records');
  const encounter = {
    ...moved(state.encounter, 'amend', 'provider', {}, now),
    addenda: [...addenda, { id: newId(), tenantId, encounterId, addedAt: now, ...addendum }],
  };
  return { state: { ...state, encounter, patient: withNews(state, 'decisions') }, events: [] };
}

/**
 * Revokes approvals of a completed encounter.
 * @throws Problem encounter_not_found, clinic_not_permitted, and those of {@link decideRevocation}
 */
export const revokeApprovals = (
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['RevokeApprovalsRequest'],
): Promise<EncounterRecord> =>
  encounterCommand<WithProvider>(
    context,
    encounterNo,
    (state, at) => decideRevocation(state, body, at),
    loadProvider(body.reviewerRef),
  );

/**
 * @throws Problem invalid_state, also if an item is not approved or none is named; provider_not_licensed;
 * validation_failed if an item is not one of the encounter's, or is named twice
 */
export function decideRevocation(
  state: EncounterState & WithProvider,
  { items, reviewerRef: revokedBy, reason: revocationReason }: Bodies['RevokeApprovalsRequest'],
  at: Moment,
): Decision<EncounterState> {
  const { now } = at;
  nextState(state.encounter.status, 'revoke', 'provider');
  requireKnownProvider(state);
  const named = namedItems(state.encounter, items);
  // A simulation names the approved items, of which there may be none.
  if (named.length === 0) throw invalidState(state.encounter.status, 'No item of the encounter is approved.');
  requireApproved(named, now);
  const keys = named.map(itemKey);
  const before = moved(state.encounter, 'revoke', 'provider', {}, now);
  const end = { reason: 'revoked', revokedBy, revocationReason } as const;
  const ended = endApprovals(before, (one) => keys.includes(itemKey(one)), end, before, now);
  const encounter = { ...before, ...ended.state };
  return { state: { ...state, encounter, patient: withNews(state, 'decisions') }, events: ended.events };
}

function namedItems({ gfeItems }: EncounterRecord, items: readonly ItemIdentity[]): GfeItem[] {
  const keys = items.map(itemKey);
  const known = new Map(gfeItems.map((item) => [itemKey(item), item]));
  const errors = keys.flatMap((key, index): FieldError[] => {
    const pointer = `#/items/${index}`;
    if (!known.has(key)) return [{ pointer, code: 'unknown', detail: 'is not an item of this encounter' }];
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
