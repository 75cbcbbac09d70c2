import fc from 'fast-check';
import { Pool } from 'pg';
import type { Schemas } from '../../../src/contract.js';
import { cancelOrder } from '../../../src/domain/orders/cancellation.js';
import { fulfilmentTransitions, recordFulfilment } from '../../../src/domain/orders/fulfilments.js';
import { getOrder, type OrderRecord } from '../../../src/domain/orders/orders.js';
import { recordPayment } from '../../../src/domain/orders/payments.js';
import { refundPayment } from '../../../src/domain/orders/refunds.js';
import { submitReview } from '../../../src/domain/reviews/review.js';
import { revokeApprovals } from '../../../src/domain/reviews/revocation.js';
import { holdExpiredLines } from '../../../src/domain/sweeps/orderHolds.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { Problem } from '../../../src/problem.js';
import { orderView } from '../../../src/views/orderView.js';
import { copyTenant } from '../../support/copies.js';
import { newCategory, newPartner, newProduct, encounterBody, newEncounter } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext } from '../../support/patientLives.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { claimedEncounter, reviewed } from '../../support/reviews.js';

/** Each run draws new lives; LIVES=5000 draws more of them. */
const runs = Number(process.env['LIVES'] ?? 1_000);
const lanes = 4;
/** Tenants that one transaction creates. */
const batch = 50;
const day = 24 * 3_600_000;
const start = Date.parse('2026-11-20T16:00:00.000Z');

type Status = keyof typeof fulfilmentTransitions;

/** The lines of each order; amounts in cents. Lines of odd positions are the second pharmacy's. */
const goods = [
  { price: '240.00', shippingAmount: '15.00', cents: 25_500, isRx: true, end: Date.parse('2026-12-20T16:00:00.000Z') },
  { price: '33.33', shippingAmount: '0.00', cents: 3_333, isRx: true, end: Date.parse('2027-11-20T16:00:00.000Z') },
  { price: '0.10', shippingAmount: '0.20', cents: 30, isRx: false, end: Date.parse('2026-12-20T16:00:00.000Z') },
  { price: '0.00', shippingAmount: '0.00', cents: 0, isRx: false, end: Infinity },
] as const;
const TOTAL = goods.reduce((sum, { cents }) => sum + cents, 0);

let database: TestDatabase;
let harness: Harness;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  pool = new Pool({ connectionString: database.url, max: lanes });
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

const positions = fc.subarray([0, 1, 2, 3], { minLength: 1 });
const pharmacy = fc.constantFrom(0, 1);
/** Per cent of what is possible; 101 is a cent too much. */
const part = fc.constantFrom(100, 100, 100, 101, 1, 40);
const named = <const T extends string>(...names: T[]) => fc.constantFrom(...names);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const action = fc.oneof(
  fc.record({ type: named('revoke'), positions }),
  fc.record({ type: named('deny'), position: fc.nat(3) }),
  fc.record({ type: named('wait'), days: fc.constantFrom(1, 20, 30, 340) }),
  fc.record({ type: named('sweep', 'cancel') }),
  often(2, fc.record({ type: named('pay'), part })),
  fc.record({ type: named('refund'), part, which: fc.nat(2) }),
  often(
    9,
    fc.record({
      type: named('fulfil'),
      pharmacy,
      named: fc.constantFrom<(readonly number[] | null)[]>(null, null, [0], [1], [0, 1]),
      status: named('next', 'next', 'next', 'accepted', 'shipped', 'delivered', 'exception', 'cancelled'),
    }),
  ),
);
type Drawn = typeof action extends fc.Arbitrary<infer T> ? T : never;
type Action = Exclude<Drawn, { type: 'fulfil' }> | Fulfilment;
interface Fulfilment {
  readonly type: 'fulfil';
  readonly pharmacy: number;
  readonly named: readonly number[] | null;
  readonly status: Exclude<Status, 'pending'>;
}

interface Line {
  readonly position: number;
  readonly pharmacy: number;
  status: Status;
  hold: { reason: 'revoked' | 'superseded' | 'expired'; at: number } | null;
  expiresAt: number;
}
interface Model {
  status: 'pending' | 'paid' | 'refunded' | 'cancelled';
  held: number;
  wasShipped: boolean;
  readonly lines: Line[];
  readonly payments: { readonly amount: number; refunded: number }[];
  /** The status of each item without the end by time. */
  readonly items: ('approved' | 'revoked' | 'superseded')[];
  /** The positions of the later encounters that are decided. */
  readonly denied: Set<number>;
}

const newModel = (): Model => ({
  status: 'pending',
  held: 0,
  wasShipped: false,
  lines: goods.map(({ isRx, end }, position) => {
    return { position, pharmacy: position % 2, status: 'pending', hold: null, expiresAt: isRx ? end : Infinity };
  }),
  payments: [],
  items: goods.map(() => 'approved' as const),
  denied: new Set(),
});
const paidIn = ({ payments }: Model): number =>
  payments.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0);
const balanceIn = (model: Model): number =>
  model.status === 'paid' || model.status === 'refunded' ? 0 : TOTAL - paidIn(model) - model.held;
const partOf = (cents: number, per: number): number =>
  per > 100 ? cents + 1 : Math.max(1, Math.floor((cents * per) / 100));
const isFinal = ({ status }: Model): boolean => status === 'refunded' || status === 'cancelled';

function settle(model: Model): void {
  if (model.status !== 'pending') return;
  const unpaid = TOTAL - paidIn(model);
  const held = model.lines.reduce((sum, { hold, position }) => sum + (hold ? (goods[position]?.cents ?? 0) : 0), 0);
  model.held = Math.min(held, unpaid);
  if (held >= unpaid && model.lines.some(({ hold }) => !hold)) model.status = 'paid';
}

function elapse(model: Model, now: number): void {
  if (isFinal(model)) return;
  for (const line of model.lines) {
    if (!line.hold && line.expiresAt <= now) line.hold = { reason: 'expired', at: line.expiresAt };
  }
  settle(model);
}

function endApprovals(model: Model, positions: readonly number[], reason: 'revoked' | 'superseded', now: number): void {
  if (isFinal(model)) return;
  for (const line of model.lines) {
    const hasLeft = line.status === 'shipped' || line.status === 'delivered';
    if (positions.includes(line.position) && !line.hold && !hasLeft) line.hold = { reason, at: now };
  }
  settle(model);
}

/** The lines that a fulfilment concerns. */
function concerned({ lines }: Model, { pharmacy, named }: Pick<Fulfilment, 'pharmacy' | 'named'>): Line[] {
  const own = lines.filter((line) => line.pharmacy === pharmacy);
  if (named) return own.filter((_, index) => named.includes(index));
  const free = own.filter(({ hold }) => !hold);
  return free.length > 0 ? free : own;
}

const usual = {
  pending: 'accepted',
  accepted: 'shipped',
  shipped: 'delivered',
  delivered: 'exception',
  exception: 'accepted',
  cancelled: 'accepted',
} as const satisfies Record<Status, Status>;

/** `next` is the state that usually follows that of the first line. */
function resolved(each: Drawn, model: Model): Action {
  if (each.type !== 'fulfil') return each;
  const [line] = concerned(model, each);
  return { ...each, status: each.status === 'next' ? usual[line?.status ?? 'pending'] : each.status };
}

/** Changes the model; returns the answer. */
function step(model: Model, each: Action, now: number): string {
  switch (each.type) {
    case 'revoke': {
      const isOver = (position: number): boolean =>
        model.items[position] !== 'approved' || (goods[position]?.end ?? 0) <= now;
      if (each.positions.some(isOver)) return 'invalid_state';
      for (const position of each.positions) model.items[position] = 'revoked';
      endApprovals(model, each.positions, 'revoked', now);
      return 'done';
    }
    case 'deny':
      if (model.denied.has(each.position)) return 'invalid_state';
      model.denied.add(each.position);
      if (model.items[each.position] === 'approved') model.items[each.position] = 'superseded';
      endApprovals(model, [each.position], 'superseded', now);
      return 'done';
    case 'pay': {
      const amount = partOf(balanceIn(model), each.part);
      if (model.lines.every(({ hold }) => hold)) return 'approval_ended';
      if (model.status !== 'pending') return 'invalid_state';
      if (amount > balanceIn(model)) return 'payment_exceeds_balance';
      model.payments.push({ amount, refunded: 0 });
      settle(model);
      return 'done';
    }
    case 'refund': {
      const payment = model.payments[each.which];
      if (!payment) return 'payment_not_found';
      const amount = partOf(payment.amount - payment.refunded, each.part);
      if (isFinal(model)) return 'invalid_state';
      if (amount > payment.amount - payment.refunded) return 'refund_exceeds_payment';
      payment.refunded += amount;
      if (model.status === 'paid' && paidIn(model) === 0) model.status = 'refunded';
      settle(model);
      return 'done';
    }
    case 'cancel': {
      const isMoot = model.status === 'paid' && model.lines.every(({ hold }) => hold);
      if ((model.status !== 'pending' && !isMoot) || paidIn(model) > 0 || model.wasShipped) return 'invalid_state';
      model.status = 'cancelled';
      return 'done';
    }
    case 'fulfil': {
      const lines = concerned(model, each);
      const isLeaving = each.status === 'accepted' || each.status === 'shipped';
      if (model.status === 'cancelled' || (model.status === 'refunded' && isLeaving)) return 'invalid_state';
      if (each.status !== 'cancelled' && lines.some(({ hold }) => hold)) return 'approval_ended';
      const isRefused = ({ hold, status }: Line): boolean =>
        hold ? status === 'cancelled' : !fulfilmentTransitions[status].includes(each.status);
      if (lines.some(isRefused)) return 'invalid_state';
      const needsPayment = each.status === 'accepted' && model.status !== 'paid';
      if (needsPayment && lines.some(({ position }) => goods[position]?.isRx)) return 'invalid_state';
      for (const line of lines) {
        line.status = each.status;
        if (each.status === 'accepted') line.expiresAt = Infinity;
        const item = model.items[line.position] ?? 'approved';
        if (each.status === 'exception' && item !== 'approved') endApprovals(model, [line.position], item, now);
      }
      model.wasShipped ||= each.status === 'shipped';
      return 'done';
    }
    default:
      return 'done';
  }
}

/** @throws the error unless it is a problem */
function codeOf(error: unknown): string {
  if (error instanceof Problem) return error.code;
  throw error;
}

const text = (cents: number): string => (cents / 100).toFixed(2);

/** The order as the model has it. */
const expectedOrder = (model: Model): object => ({
  order_status: model.status,
  grand_total: text(TOTAL),
  paid_amt: text(paidIn(model)),
  refunded_amt: text(model.payments.reduce((sum, { refunded }) => sum + refunded, 0)),
  held_amt: text(model.held),
  balance_amt: text(balanceIn(model)),
  payments: model.payments.map(({ amount, refunded }) => [text(amount), text(refunded)]),
  lines: model.lines.map(({ status, hold }) => [
    status,
    hold && { reason: hold.reason, at: new Date(hold.at).toISOString() },
  ]),
});

/** The same of a stored order. */
const shownOrder = (order: Schemas['Order']): object => {
  const { order_status, grand_total, paid_amt, refunded_amt, held_amt, balance_amt } = order;
  return {
    ...{ order_status, grand_total, paid_amt, refunded_amt, held_amt, balance_amt },
    payments: order.payments.map((payment) => [payment.amount, payment.refunded_amt]),
    lines: order.lines.map(({ fulfilment, hold }) => [fulfilment.status, hold]),
  };
};

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
        await submitReview(context, encounterNos[each.position + 1] ?? 0n, { reviewerRef: 'A', decisions });
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
/** Lives that a run may miss: the end of an approval before and after each state of a line. */
const rare: [Drawn[]][] = [
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

it(`ships nothing after its approval was revoked or denied, and keeps exact sums, over ${runs} random lives of orders`, async () => {
  // In parallel: each life mostly waits for the database.
  await Promise.all(Array.from({ length: lanes }, (_, lane) => live(lane, Math.ceil(runs / lanes))));
  const codes = ['approval_ended', 'invalid_state', 'payment_exceeds_balance', 'refund_exceeds_payment'];
  const states = ['pending', 'paid', 'refunded', 'cancelled', 'revoked', 'superseded', 'expired'];
  expect([...seen]).toEqual(expect.arrayContaining([...codes, ...states]));
}, 600_000);
