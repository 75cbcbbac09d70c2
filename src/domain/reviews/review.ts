import type { GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { Problem } from '../../problem.js';
import { approvalEnd } from '../approvals/approvals.js';
import { deaScheduleOf } from '../catalog/deaSchedules.js';
import { itemKey } from '../catalog/itemKey.js';
import { announced, claimEnd, decideRelease, encounterCommand, moved, withNews } from '../encounters/command.js';
import {
  loadEarlier,
  readReviewState,
  type DecidedEncounter,
  type EncounterRecord,
  type EncounterState,
  type WithReviewState,
} from '../encounters/record.js';
import { actorOf, nextState, type Reviewer } from '../encounters/states.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { newOrder, orderCreated, type NewOrder } from '../orders/orders.js';
import { identityIn } from '../patients/identity.js';
import { frozenProvider, loadProvider, requireDea, requireLicense, type WithProvider } from '../providers/licenses.js';
import type { Decision, Moment } from '../transactions/changes.js';
import { nextNumber } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { changedParts, readMarks, type ChartMarks } from './chartVersion.js';
import {
  matchDecisions,
  readPresent,
  readVisit,
  requirePermitted,
  requireVisit,
  type DecidedItem,
  type Visit,
  type WithPresent,
} from './decisions.js';
import { endApprovals } from './endings.js';

/** The default duration of a claim's lease, in seconds. */
const LEASE_SECONDS = 3_600;

/**
 * Claims an encounter for one provider until its lease ends; the holder's lease is renewed.
 * @param claimedById null for a fixture of a sandbox, which any client may continue
 * @throws Problem encounter_not_found, clinic_not_permitted, and those of {@link decideClaim}
 */
export const claimEncounter = (
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['ClaimEncounterRequest'],
  claimedById: string | null = context.caller.apiClientId,
): Promise<EncounterRecord> =>
  encounterCommand<WithProvider & WithReviewState>(
    context,
    encounterNo,
    (state, at) => decideClaim(state, body, claimedById, at),
    async (transaction, which) => {
      const [provider, state] = await Promise.all([
        loadProvider(body.reviewerRef)(transaction),
        readReviewState(transaction, transaction.caller.tenantId, which),
      ]);
      return { ...provider, ...state };
    },
  );

/** @throws Problem invalid_state, claimed_by_other, provider_not_licensed; not_due before `claimableFrom` */
export function decideClaim(
  state: EncounterState & WithProvider & WithReviewState,
  { reviewerRef, visitUrl, leaseSeconds = LEASE_SECONDS }: Bodies['ClaimEncounterRequest'],
  claimedById: string | null,
  at: Moment,
): Decision<EncounterState> {
  const { now } = at;
  const before = { ...state.encounter, reviewState: state.reviewState };
  const event = before.status === 'in_review' ? 'renew' : 'claim';
  const actor = actorOf(at, before, { reviewerRef });
  nextState(before.status, event, actor);
  requireLicense(state, before, now);
  // An encounter that was claimable at its creation stays so, even if this server's clock is behind the creator's.
  const { claimableFrom, createdAt } = before;
  if (event === 'claim' && claimableFrom > createdAt && now < claimableFrom) {
    throw new Problem('not_due', undefined, { extra: { claimableFrom: claimableFrom.toISOString() } });
  }
  const lease = {
    leaseExpiresAt: new Date(now.getTime() + leaseSeconds * 1000),
    visitUrl: visitUrl ?? before.visitUrl,
  };
  const claim = event === 'claim' ? { reviewerRef, claimedById, claimedAt: now } : {};
  const encounter = moved(before, event, actor, { ...claim, ...lease }, now);
  const isReady = encounter.visitUrl !== null && encounter.visitUrl !== before.visitUrl;
  const events = [
    ...(event === 'claim' ? [announced(encounter, 'encounter.review_started')] : []),
    ...(isReady
      ? [told(encounter, 'encounter.visit_ready', { ...numbersOf(encounter), visitUrl: encounter.visitUrl ?? '' })]
      : []),
  ];
  return { state: { ...state, encounter }, events };
}

/**
 * Returns a claimed encounter to the queue.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state, claimed_by_other
 */
export const releaseEncounter = (
  context: CallerContext,
  encounterNo: bigint,
  reviewer: Reviewer,
): Promise<EncounterRecord> =>
  encounterCommand(context, encounterNo, (state, at) =>
    decideRelease(state, 'release', actorOf(at, state.encounter, reviewer), at),
  );

/** The facts, in addition to the encounter, that decide a review. */
export interface ReviewBasis extends WithProvider, WithReviewState, WithPresent {
  readonly marks: ChartMarks;
  readonly newOrder: NewOrder;
}

/**
 * Decides every item. If at least one is approved, the encounter is completed and gets its order; otherwise it is denied
 * (R-42).
 * @param fixedOrder id and number of the order of a sandbox's fixture
 * @throws Problem validation_failed for the visit, encounter_not_found, clinic_not_permitted, and those of
 * {@link decideReview}
 */
export function submitReview(
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['SubmitReviewRequest'],
  fixedOrder?: Omit<NewOrder, 'position'>,
): Promise<EncounterRecord> {
  const visit = readVisit(body.visit);
  return encounterCommand<ReviewBasis & Pick<EncounterState, 'earlier'>>(
    context,
    encounterNo,
    (state, at) => decideReview(state, body, visit, at),
    async (transaction, which) => {
      const { tenantId } = transaction.caller;
      const [earlier, provider, state, present, marks, orderSequence] = await Promise.all([
        loadEarlier(transaction, tenantId, which),
        loadProvider(body.reviewerRef)(transaction),
        readReviewState(transaction, tenantId, which),
        readPresent(transaction, which),
        readMarks(transaction, which),
        fixedOrder?.orderSequence ?? nextNumber(transaction.db, 'order_order_sequence_seq'),
      ]);
      const numbers = { id: fixedOrder?.id ?? transaction.newId(), orderSequence, position: 0 };
      return { earlier, ...provider, ...state, ...present, marks, newOrder: numbers };
    },
  );
}

/**
 * Only an approval repeats checks of the creation: a provider may deny what can no longer be approved.
 * @throws Problem, in this order, invalid_state, claimed_by_other; visit_required, validation_failed;
 * decisions_incomplete; chart_changed; for an approval provider_not_licensed, patient_inactive, guardian_required,
 * treatment_not_permitted
 */
export function decideReview(
  state: EncounterState & ReviewBasis,
  body: Bodies['SubmitReviewRequest'],
  visit: Visit | null,
  at: Moment,
): Decision<EncounterState> {
  const { now } = at;
  const before = { ...state.encounter, reviewState: state.reviewState };
  const actor = actorOf(at, before, body);
  // Check the right to decide first. `approve` stands for `deny`, too: both are open to the same actors.
  nextState(before.status, 'approve', actor);
  requireVisit(before, visit, now);
  const decided = matchDecisions(before, body.decisions);
  const changed = changedParts(body.chartVersion, state.marks, state);
  if (changed.length > 0) throw new Problem('chart_changed', undefined, { extra: { changed } });
  const isApproval = !decided.every(isDenial);
  if (isApproval) {
    const approved = new Map(
      decided.flatMap((one, index) => approvedIds(before, one).map((id) => [id, `#/decisions/${index}`])),
    );
    requireLicense(state, before, now);
    if (haveScheduled(before, [...approved.keys()])) requireDea(state);
    requirePermitted(state, approved);
  }
  // Count this review's refusals first: its approvals store a count that includes them, so only later news counts.
  const refusals = decided.filter((one) => isDenial(one) || one.declinedTreatmentIds.length > 0);
  const patient = withNews(state, 'decisions', refusals.length);
  const columns = {
    ...claimEnd,
    reviewNotes: body.notes ?? null,
    visitStartedAt: visit?.startedAt ?? null,
    visitEndedAt: visit?.endedAt ?? null,
    reviewedById: at.caller?.apiClientId ?? null,
    reviewedIdentity: { ...identityIn(patient) },
    reviewedProvider: frozenProvider(state, before, now),
    factsVersion: patient.factsVersion,
    completedAt: now,
  };
  const reviewed = withDecisions(
    moved(before, isApproval ? 'approve' : 'deny', actor, columns as Partial<EncounterRecord>, now),
    decided,
    now,
  );
  const ended = state.earlier.map((one) => supersede(one, reviewed, now));
  const outcome = isApproval ? withOrder(reviewed, patient, state.newOrder, at) : denied(reviewed);
  return {
    state: { patient, encounter: outcome.state, earlier: ended.map((one) => one.state) },
    events: [...outcome.events, ...ended.flatMap(({ events }) => events)],
  };
}

/** Whether one of these treatments is a controlled substance. */
const haveScheduled = ({ treatments }: EncounterRecord, productIds: readonly string[]): boolean =>
  treatments.some(({ productId, rx }) => {
    return productIds.includes(productId) && deaScheduleOf(rx as { readonly deaScheduleId: string } | null) !== null;
  });

const isDenial = ({ denialReason }: DecidedItem): boolean => denialReason !== null;

/** The treatments that a decision approves; none for a denial. */
const approvedIds = ({ treatments }: EncounterRecord, one: DecidedItem): string[] =>
  treatments
    .filter(({ productId }) => !isDenial(one) && !one.declinedTreatmentIds.includes(productId))
    .filter((treatment) => itemKey(treatment) === itemKey(one.item))
    .map(({ productId }) => productId);

/** The encounter with the decisions about its items and treatments. */
function withDecisions(encounter: EncounterRecord, decided: readonly DecidedItem[], now: Date): EncounterRecord {
  const decisionOf = new Map(decided.map((one) => [itemKey(one.item), one]));
  const endOf = (one: DecidedItem): Date | null =>
    approvalEnd(one.item, now, haveScheduled(encounter, approvedIds(encounter, one)));
  return {
    ...encounter,
    gfeItems: encounter.gfeItems.map((item): GfeItem => {
      const one = decisionOf.get(itemKey(item));
      if (!one) return item;
      const { denialReason, rationale } = one;
      const outcome = isDenial(one)
        ? { status: 'denied' as const }
        : { status: 'approved' as const, validUntil: endOf(one) };
      return { ...item, ...outcome, decidedAt: now, denialReason, rationale };
    }),
    treatments: encounter.treatments.map((treatment) => {
      const one = decisionOf.get(itemKey(treatment));
      if (!one) return treatment;
      if (isDenial(one)) return { ...treatment, decision: 'denied', decidedAt: now };
      if (one.declinedTreatmentIds.includes(treatment.productId)) {
        return { ...treatment, decision: 'declined', decidedAt: now };
      }
      return { ...treatment, decision: 'approved', decidedAt: now, validUntil: endOf(one) };
    }),
  };
}

/** Ends the earlier approvals of the treatments that this review decides. */
function supersede(earlier: DecidedEncounter, by: EncounterRecord, now: Date): Decision<DecidedEncounter> {
  const productIds = by.treatments.map(({ productId }) => productId);
  const ended = endApprovals(
    earlier,
    ({ productId }) => productIds.includes(productId),
    { reason: 'superseded' },
    by,
    now,
  );
  const { version } = earlier;
  return { state: { ...ended.state, version: version + 1, updatedAt: now }, events: ended.events };
}

function withOrder(
  encounter: EncounterRecord,
  { factsChanges }: EncounterState['patient'],
  numbers: NewOrder,
  at: Moment,
): Decision<EncounterRecord> {
  const approved = encounter.treatments.flatMap((treatment) => {
    const item = encounter.gfeItems.find((one) => itemKey(one) === itemKey(treatment));
    return item && treatment.decision === 'approved' ? [{ treatment, item }] : [];
  });
  const order = newOrder(encounter, factsChanges, approved, numbers, at);
  const completed = told(encounter, 'encounter.completed', {
    ...numbersOf(encounter),
    approved: encounter.gfeItems.filter(({ status }) => status === 'approved').length,
    denied: encounter.gfeItems.filter(({ status }) => status === 'denied').length,
    order_no: order.orderNo,
  });
  return { state: { ...encounter, orders: [order] }, events: [completed, ...orderCreated(order)] };
}

function denied(encounter: EncounterRecord): Decision<EncounterRecord> {
  const event = told(encounter, 'encounter.denied', { ...numbersOf(encounter), denied: encounter.gfeItems.length });
  return { state: encounter, events: [event] };
}
