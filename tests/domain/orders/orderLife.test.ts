import fc from 'fast-check';
import type { Pool } from 'pg';
import { openPool } from '../../../src/adapters/database/openPool.js';
import { cancelOrder } from '../../../src/domain/orders/cancellation.js';
import { recordFulfilment } from '../../../src/domain/orders/fulfilments.js';
import { getOrder, type OrderRecord } from '../../../src/domain/orders/orders.js';
import { recordPayment } from '../../../src/domain/orders/payments.js';
import { refundPayment } from '../../../src/domain/orders/refunds.js';
import { submitReview } from '../../../src/domain/reviews/review.js';
import { presentChartVersion } from '../../../src/domain/reviews/chartVersion.js';
import { revokeApprovals } from '../../../src/domain/reviews/revocation.js';
import { holdExpiredLines } from '../../../src/domain/sweeps/orderHolds.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { orderView } from '../../../src/views/orderView.js';
import { copyTenant } from '../../support/copies.js';
import { newCategory, newPartner, newProduct, encounterBody, newEncounter } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext } from '../../support/patientLives.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { claimedEncounter, reviewed } from '../../support/reviews.js';
import {
  goods,
  action,
  type Drawn,
  type Action,
  type Model,
  newModel,
  balanceIn,
  partOf,
  elapse,
  resolved,
  step,
  codeOf,
  text,
  expectedOrder,
  shownOrder,
} from './orderModel.js';

/** Each run draws new lives; LIVES=5000 draws more of them. */
const runs = Number(process.env['LIVES'] ?? 250);
const lanes = 4;
/** Tenants that one transaction creates. */
const batch = 50;
const day = 24 * 3_600_000;
const start = Date.parse('2026-11-20T16:00:00.000Z');

let database: TestDatabase;
let harness: Harness;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  pool = openPool({ connectionString: database.url, max: lanes });
  await makeTemplate();
});
afterAll(async () => {
  await pool.end();
  await harness.close();
  await database.drop();
});

/** A tenant with an order, and for each of its items a later encounter that is in review; each life starts with a copy. */
let template: {
  readonly tenantId: string;
  /** The ids of the encounters: that of the order, and the later ones. */
  readonly encounterIds: readonly string[];
  readonly lines: readonly Readonly<Record<'id' | 'pharmacyId' | 'categoryId' | 'subcategoryId', string>>[];
};

async function makeTemplate(): Promise<void> {
  const partner = await newPartner(harness);
  const { tenantId } = partner;
  const pharmacies = [harness.domain.newId(), harness.domain.newId()];
  const lines: (typeof template)['lines'][number][] = [];
  for (const [position, { price, shippingAmount, isRx, end }] of goods.entries()) {
    const group = await newCategory(harness, partner);
    const data = { reviewOften: end < start + 40 * day ? 'MONTHLY' : 'YEARLY', reviewRecurring: end < Infinity };
    await harness.domain.db.prisma.category.updateMany({ where: { tenantId, id: group.categoryId }, data });
    const pharmacyId = pharmacies[position % 2] ?? '';
    const id = await newProduct(harness, partner, { ...group, price, shippingAmount, isRx, pharmacyId });
    lines.push({ ...group, id, pharmacyId });
  }
  const body = await encounterBody(harness, partner);
  const first = await newEncounter(harness, partner, { ...body, treatmentIds: lines.map(({ id }) => id) });
  const { id: ordered } = await reviewed(harness, partner, first);
  const encounterIds: string[] = [ordered];
  for (const { id } of lines) {
    const again = await claimedEncounter(harness, partner, { ...body, treatmentIds: [id] }, { reviewerRef: 'A' });
    encounterIds.push(again.id);
  }
  // Later reviews stay open when time passes.
  await pool.query(
    `UPDATE encounter SET lease_expires_at = '2100-01-01', expires_at = '2100-01-01' WHERE status = 'in_review'`,
  );
  template = { tenantId, encounterIds, lines };
}

const copied =
  'tenant api_client clinic client category subcategory product product_rx encounter encounter_treatment gfe_item order order_line';
/** The numbers of a life's copies. */
interface Numbers {
  readonly orderNo: string;
  readonly encounterNos: readonly bigint[];
  paymentIds: readonly string[];
}

async function numbersOf(tenantId: string): Promise<Numbers> {
  const { rows } = await pool.query<Record<'encounter_no' | 'order_no', string>>(
    `SELECT encounter_no, order_no FROM encounter e LEFT JOIN "order" o ON o.tenant_id = e.tenant_id AND o.encounter_id = e.id
      WHERE e.tenant_id = $1 ORDER BY array_position($2::uuid[], e.id)`,
    [tenantId, template.encounterIds],
  );
  const encounterNos = rows.map(({ encounter_no }) => BigInt(encounter_no));
  return { orderNo: rows[0]?.order_no ?? '', encounterNos, paymentIds: [] };
}

/** The domain function that performs the action, with amounts from the model before it. */
function workOf(each: Action, model: Model, { orderNo, encounterNos, paymentIds }: Numbers) {
  const { lines } = template;
  const itemsAt = (wanted: readonly number[]) =>
    lines
      .filter((_, position) => wanted.includes(position))
      .map(({ categoryId, subcategoryId }) => ({ categoryId, subcategoryId }));
  return async (context: CallerContext): Promise<OrderRecord> => {
    switch (each.type) {
      case 'revoke': {
        const revocation = { reviewerRef: 'B', items: itemsAt(each.positions), reason: 'x' };
        await revokeApprovals(context, encounterNos[0] ?? 0n, revocation);
        break;
      }
      case 'deny': {
        const decisions = itemsAt([each.position]).map((item) => ({
          ...item,
          decision: 'denied' as const,
          reason: 'x',
        }));
        const encounterNo = encounterNos[each.position + 1] ?? 0n;
        const chartVersion = await presentChartVersion(context, encounterNo);
        await submitReview(context, encounterNo, { reviewerRef: 'A', chartVersion, decisions });
        break;
      }
      case 'pay':
        return recordPayment(context, orderNo, { amount: text(partOf(balanceIn(model), each.part)) });
      case 'refund': {
        const { amount, refunded } = model.payments[each.which] ?? { amount: 0, refunded: 0 };
        const payment_id = paymentIds[each.which] ?? context.newId();
        const back = text(partOf(amount - refunded, each.part));
        return refundPayment(context, orderNo, { payment_id, amount: back, reason: 'x' });
      }
      case 'fulfil': {
        const own = lines.filter((_, position) => position % 2 === each.pharmacy);
        const treatmentIds = each.named?.flatMap((index) => own[index]?.id ?? []);
        const pharmacyId = own[0]?.pharmacyId ?? '';
        const request = { pharmacyId, status: each.status, reason: 'x', ...(treatmentIds ? { treatmentIds } : {}) };
        return recordFulfilment(context, orderNo, request);
      }
      case 'cancel':
        return cancelOrder(context, orderNo, 'x');
    }
    return getOrder(context, orderNo);
  };
}

const seen = new Set<string>();

async function liveOnce(tenantId: string, actions: readonly Drawn[]): Promise<void> {
  let now = start;
  const context = await callerContext(harness, { tenantId }, () => new Date(now));
  const model = newModel();
  const numbers = await numbersOf(tenantId);
  for (const drawn of actions) {
    now += drawn.type === 'wait' ? drawn.days * day : 1000;
    elapse(model, now);
    const each = resolved(drawn, model);
    const before = model.lines.map((line) => ({ ...line }));
    if (each.type === 'sweep') await holdExpiredLines(context, tenantId);
    const result = await inCallerTransaction(context, workOf(each, model, numbers)).then(orderView, codeOf);
    const answer = typeof result === 'string' ? result : 'done';
    expect([each, answer]).toEqual([each, step(model, each, now)]);
    if (typeof result === 'object') {
      numbers.paymentIds = result.payments.map(({ id }) => id);
      expect(shownOrder(result)).toEqual(expectedOrder(model));
    }
    // What no model may allow.
    for (const [position, { status, hold }] of before.entries()) {
      const after = model.lines[position]?.status;
      if (after === status) continue;
      if (hold) expect(after).toBe('cancelled');
      if (after === 'shipped') expect(model.items[position]).toBe('approved');
    }
    for (const { hold } of model.lines) seen.add(hold?.reason ?? 'free');
    seen.add(model.status).add(answer);
  }
}

const paid: Drawn = { type: 'pay', part: 100 };
const ended: Drawn = { type: 'revoke', positions: [1] };
const next: Drawn = { type: 'fulfil', pharmacy: 1, named: [0], status: 'next' };
/** Only paid orders ship prescriptions, so most lives begin with a payment. */
const lives = fc
  .tuple(fc.constantFrom([paid], [paid], []), fc.array(action, { minLength: 3, maxLength: 8, size: 'max' }))
  .map(([first, rest]) => [...first, ...rest]);
/** Lives that a run may miss: refused amounts, a cancellation, and the end of an approval before and after each state of a line. */
const rare: [Drawn[]][] = [
  [[{ ...paid, part: 101 }, { type: 'cancel' }]],
  [[paid, { type: 'refund', part: 101, which: 0 }, { type: 'refund', part: 100, which: 0 }]],
  [[paid, ended, next, { ...next, status: 'cancelled' }]],
  [[paid, next, ended, next]],
  [[paid, next, next, ended, next]],
  [[paid, next, next, { ...next, status: 'exception' }, ended, next, next]],
  [[paid, next, next, ended, { ...next, status: 'exception' }, next, next]],
];

/** Runs lives one after the other, each in its tenant. */
async function live(lane: number, numRuns: number): Promise<void> {
  let number = 0;
  await fc.assert(
    fc.asyncProperty(lives, async (actions) => {
      if (number % batch === 0) await copyTenant(pool, template.tenantId, copied, `life-${lane}`, number, batch);
      const tenantId = `life-${lane}-${number}`;
      number += 1;
      await liveOnce(tenantId, actions);
    }),
    { numRuns, examples: rare, includeErrorInReport: true },
  );
}

it(`orders ship nothing after their approval was revoked or denied, and keep exact sums, over ${runs} random lives`, async () => {
  // In parallel: each life mostly waits for the database.
  await Promise.all(Array.from({ length: lanes }, (_, lane) => live(lane, Math.ceil(runs / lanes))));
  const codes = ['approval_ended', 'invalid_state', 'payment_exceeds_balance', 'refund_exceeds_payment'];
  const states = ['pending', 'paid', 'refunded', 'cancelled', 'revoked', 'superseded', 'expired'];
  expect([...seen]).toEqual(expect.arrayContaining([...codes, ...states]));
}, 600_000);
