import type { Bodies } from '../../contract.js';
import { statusAt } from '../approvals/coverage.js';
import { cancelEncounter, expireEncounter } from '../encounters/cancellation.js';
import { encounterCommand } from '../encounters/command.js';
import type { EncounterRecord } from '../encounters/record.js';
import { requestInformation } from '../reviews/information.js';
import { recordPayment } from '../orders/payments.js';
import { claimEncounter, submitReview } from '../reviews/review.js';
import { presentChartVersion } from '../reviews/chartVersion.js';
import { revokeApprovals } from '../reviews/afterReview.js';
import { requireSandbox } from '../access/sandboxTenants.js';
import { flush } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';

type Decision = Bodies['SubmitReviewRequest']['decisions'][number];

/** Name of the provider that the sandbox simulates, unless another provider holds the claim. */
const REVIEWER = 'sandbox';
const DENIAL = 'Denied in the sandbox.';
const VISITS = 'https://visits.northwind.example';
const QUESTION = 'Asked in the sandbox.';
const REVOCATION = 'Revoked in the sandbox.';

/**
 * Simulates a provider, a payer or the end of a deadline by the real transitions, all or nothing.
 * @throws Problem sandbox_only, and those of the simulated requests
 */
export async function simulateEncounter(
  context: CallerContext,
  encounterNo: bigint,
  { outcome, pay }: Bodies['SimulateEncounterRequest'],
): Promise<EncounterRecord> {
  requireSandbox(context);
  const encounter = await outcomes[outcome](context, encounterNo);
  return pay ? paid(context, encounter) : encounter;
}

type Play = (context: CallerContext, encounterNo: bigint) => Promise<EncounterRecord>;

const outcomes: Readonly<Record<Bodies['SimulateEncounterRequest']['outcome'], Play>> = {
  claim,
  approve_all: review(() => true),
  deny_all: review(() => false),
  approve_first: review((index) => index === 0),
  no_show: (context, encounterNo) => cancelEncounter(context, encounterNo, { reason: 'patient_no_show' }, 'provider'),
  expire: expireEncounter,
  revoke,
  request_information: ask,
};

/** The encounter, locked: otherwise another provider could claim it after its holder is read. */
const locked = (context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> =>
  encounterCommand(context, encounterNo, (state) => ({ state, events: [] }));

/** Claims the encounter as the provider that holds its claim, or as the simulated one if none does. */
async function claim(context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> {
  const encounter = await locked(context, encounterNo);
  const { reviewerRef, leaseExpiresAt } = encounter;
  const isHeld = leaseExpiresAt !== null && context.now() < leaseExpiresAt;
  const visit = encounter.reviewType === 'synchronous' ? { visitUrl: `${VISITS}/${encounterNo}` } : {};
  if (!isHeld || reviewerRef === null) return claimEncounter(context, encounterNo, { reviewerRef: REVIEWER, ...visit });
  return claimEncounter(asHolder(context, encounter), encounterNo, { reviewerRef });
}

async function ask(context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> {
  const claimed = await claim(context, encounterNo);
  const body = { reviewerRef: claimed.reviewerRef ?? REVIEWER, message: QUESTION };
  return requestInformation(asHolder(context, claimed), encounterNo, body);
}

/** The context of the API client that alone may continue the claim; the caller's for the claim of a fixture. */
function asHolder(context: CallerContext, { claimedById }: EncounterRecord): CallerContext {
  const { caller } = context;
  return { ...context, caller: { ...caller, apiClientId: claimedById ?? caller.apiClientId } };
}

function review(approves: (index: number) => boolean): Play {
  return async (context, encounterNo) => {
    const claimed = await claim(context, encounterNo);
    const { reviewerRef, reviewType, gfeItems } = claimed;
    const waiting = gfeItems.filter(({ status }) => status === 'pending_review');
    const decisions = waiting.map(({ categoryId, subcategoryId }, index): Decision => {
      const item = { categoryId, subcategoryId };
      return approves(index) ? { ...item, decision: 'approved' } : { ...item, decision: 'denied', reason: DENIAL };
    });
    const now = context.now().toISOString();
    const visit = reviewType === 'synchronous' ? { visit: { startedAt: now, endedAt: now } } : {};
    await flush(context);
    const chartVersion = await presentChartVersion(context, encounterNo);
    const body = { reviewerRef: reviewerRef ?? REVIEWER, chartVersion, decisions, ...visit };
    return submitReview(asHolder(context, claimed), encounterNo, body);
  };
}

async function revoke(context: CallerContext, encounterNo: bigint): Promise<EncounterRecord> {
  const { gfeItems } = await locked(context, encounterNo);
  const items = gfeItems.filter((item) => statusAt(item, context.now()) === 'approved');
  return revokeApprovals(context, encounterNo, { reviewerRef: REVIEWER, items, reason: REVOCATION });
}

async function paid(context: CallerContext, encounter: EncounterRecord): Promise<EncounterRecord> {
  const [order] = encounter.orders;
  if (order?.orderStatus !== 'pending') return encounter;
  await recordPayment(context, order.orderNo, { amount: order.balanceAmt.toFixed(2) });
  return locked(context, encounter.encounterNo);
}
