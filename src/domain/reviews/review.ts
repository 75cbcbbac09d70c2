import { Prisma, type GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { Problem } from '../../problem.js';
import { actorOf, nextState, type Reviewer } from '../encounters/states.js';
import type { EncounterRecord } from '../encounters/encounters.js';
import {
  announce,
  changeEncounter,
  claimEnd,
  release,
  type Change,
  type ChangedParts,
} from '../encounters/transitions.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { approvalEnd } from '../approvals/approvals.js';
import { supersedeApprovals } from '../approvals/endings.js';
import { approvedTreatments } from '../approvals/inForce.js';
import { countFacts } from '../patients/facts.js';
import { createOrder, type FixedOrder } from '../orders/orders.js';
import { requireLicence } from '../providers/licences.js';
import { identityOf } from './certificate.js';
import { requireSameChart } from './chartVersion.js';
import { matchDecisions, readVisit, requireVisit, type DecidedItem, type Visit } from './decisions.js';
import { updatedRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';

/** The default duration of a claim's lease, in seconds. */
const LEASE_SECONDS = 3_600;

/**
 * Claims an encounter for one provider until its lease ends; the holder's lease is renewed.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state, claimed_by_other, provider_not_licensed;
 * not_due before the time of a live visit
 */
export function claimEncounter(
  context: CallerContext,
  encounterNo: bigint,
  { reviewerRef, visitUrl, leaseSeconds = LEASE_SECONDS }: Bodies['ClaimEncounterRequest'],
  claimedById: string | null = context.caller.apiClientId,
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, async (encounter, now) => {
    const leaseExpiresAt = new Date(now.getTime() + leaseSeconds * 1000);
    const lease = { leaseExpiresAt, ...(visitUrl === undefined ? {} : { visitUrl }) };
    const actor = actorOf(context, encounter, { reviewerRef });
    nextState(encounter.status, encounter.status === 'in_review' ? 'renew' : 'claim', actor);
    await requireLicence(context, encounter, reviewerRef, now);
    if (encounter.status === 'in_review') return { event: 'renew', actor, set: lease, effects: nothingElse };
    const { claimableFrom, createdAt } = encounter;
    // If claimable since the creation, do not compare with the present time: the clocks of servers differ.
    if (claimableFrom > createdAt && now < claimableFrom) {
      throw new Problem('not_due', undefined, { extra: { claimableFrom: claimableFrom.toISOString() } });
    }
    const set = { reviewerRef, claimedById, claimedAt: now, ...lease };
    return { event: 'claim', actor, set, effects: announce('encounter.review_started') };
  });
}

/**
 * Gives a claimed encounter back to the queue.
 * @throws Problem encounter_not_found, clinic_not_permitted, invalid_state, claimed_by_other
 */
export function releaseEncounter(
  context: CallerContext,
  encounterNo: bigint,
  reviewer: Reviewer,
): Promise<EncounterRecord> {
  return changeEncounter(context, encounterNo, (encounter) => ({
    event: 'release',
    actor: actorOf(context, encounter, reviewer),
    ...release,
  }));
}

/**
 * Decides every item. If at least one is approved, the encounter is completed and gets its order; otherwise it is denied.
 * @throws Problem, in this order, validation_failed; encounter_not_found; clinic_not_permitted; invalid_state,
 * claimed_by_other; provider_not_licensed; visit_required; decisions_incomplete; chart_changed
 */
export async function submitReview(
  context: CallerContext,
  encounterNo: bigint,
  body: Bodies['SubmitReviewRequest'],
  fixedOrder?: FixedOrder,
): Promise<EncounterRecord> {
  const visit = readVisit(body.visit);
  return changeEncounter(context, encounterNo, async (encounter, now) => {
    const actor = actorOf(context, encounter, body);
    // Check the right to decide first. `approve` stands for `deny`, too: both are open to the same actors.
    nextState(encounter.status, 'approve', actor);
    await requireLicence(context, encounter, body.reviewerRef, now);
    requireVisit(encounter, visit, now);
    const decided = matchDecisions(encounter, body.decisions);
    await requireSameChart(context, encounterNo, body.chartVersion);
    const { apiClientId: reviewedById } = context.caller;
    const reviewedIdentity = await identityOf(context, encounter.patientId);
    const written = reviewColumns(visit, body.notes);
    const set = { ...claimEnd, ...written, reviewedById, reviewedIdentity, completedAt: now };
    return { actor, set, ...outcome(!decided.every(isDenial), decided, fixedOrder) };
  });
}

const isDenial = ({ denialReason }: DecidedItem): boolean => denialReason !== null;

const nothingElse = (): ChangedParts => ({});

function reviewColumns(visit: Visit | null, notes: string | undefined) {
  return { reviewNotes: notes ?? null, visitStartedAt: visit?.startedAt ?? null, visitEndedAt: visit?.endedAt ?? null };
}

function outcome(
  isApproval: boolean,
  decided: readonly DecidedItem[],
  fixedOrder: FixedOrder | undefined,
): Pick<Change<EncounterRecord>, 'event' | 'effects'> {
  return {
    event: isApproval ? 'approve' : 'deny',
    async effects(context, encounter) {
      const gfeItems = await decideItems(context, encounter, decided);
      const reviewed = { ...encounter, gfeItems };
      const approved = approvedTreatments(reviewed, context.now());
      const order = isApproval ? await createOrder(context, reviewed, approved, fixedOrder) : null;
      if (!isApproval)
        recordEvent(context, encounter, 'encounter.denied', { ...numbersOf(encounter), denied: decided.length });
      const denied = decided.filter(isDenial).map(({ item }) => item);
      await supersedeApprovals(context, encounter, denied);
      return { gfeItems, order };
    },
  };
}

/** Writes the decisions of items. @returns all items of the encounter afterwards */
async function decideItems(
  context: TransactionContext,
  encounter: EncounterRecord,
  decided: readonly DecidedItem[],
): Promise<GfeItem[]> {
  const decidedAt = context.now();
  // Count refusals before the version is stored with the approvals: a review's own refusals must not end those.
  const refusals = decided.filter((one) => isDenial(one) || one.declinedTreatmentIds.length > 0);
  const factsVersion = await countFacts(context, encounter, refusals.length);
  const changes = new Map(decided.map((one) => [one.item.id, decision(one, decidedAt, factsVersion)]));
  const items: GfeItem[] = [];
  for (const item of encounter.gfeItems) {
    const { tenantId, id } = item;
    const data = changes.get(id);
    items.push(
      ...(data ? await updatedRows(context.db, tenantId, 'GfeItem', data, Prisma.sql`id = ${id}::uuid`) : [item]),
    );
  }
  return items;
}

function decision({ item, ...decided }: DecidedItem, decidedAt: Date, factsVersion: bigint) {
  return decided.denialReason === null
    ? { status: 'approved' as const, decidedAt, ...decided, validUntil: approvalEnd(item, decidedAt), factsVersion }
    : { status: 'denied' as const, decidedAt, ...decided };
}
