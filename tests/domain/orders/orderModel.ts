import fc from 'fast-check';
import type { Schemas } from '../../../src/contract.js';
import { fulfilmentTransitions } from '../../../src/domain/orders/fulfilments.js';
import { Problem } from '../../../src/problem.js';

type Status = keyof typeof fulfilmentTransitions;

/** The lines of each order; amounts in cents. Lines of odd positions are the second pharmacy's. */
export const goods = [
  { price: '240.00', shippingAmount: '15.00', cents: 25_500, isRx: true, end: Date.parse('2026-12-20T16:00:00.000Z') },
  { price: '33.33', shippingAmount: '0.00', cents: 3_333, isRx: true, end: Date.parse('2027-11-20T16:00:00.000Z') },
  { price: '0.10', shippingAmount: '0.20', cents: 30, isRx: false, end: Date.parse('2026-12-20T16:00:00.000Z') },
  { price: '0.00', shippingAmount: '0.00', cents: 0, isRx: false, end: Infinity },
] as const;
const TOTAL = goods.reduce((sum, { cents }) => sum + cents, 0);

export const positions = fc.subarray([0, 1, 2, 3], { minLength: 1 });
export const pharmacy = fc.constantFrom(0, 1);
/** Per cent of what is possible; 101 is a cent too much. */
export const part = fc.constantFrom(100, 100, 100, 101, 1, 40);
export const named = <const T extends string>(...names: T[]) => fc.constantFrom(...names);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
export const action = fc.oneof(
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
export type Drawn = typeof action extends fc.Arbitrary<infer T> ? T : never;
export type Action = Exclude<Drawn, { type: 'fulfil' }> | Fulfilment;
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
export interface Model {
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

export const newModel = (): Model => ({
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
export const balanceIn = (model: Model): number =>
  model.status === 'paid' || model.status === 'refunded' ? 0 : TOTAL - paidIn(model) - model.held;
export const partOf = (cents: number, per: number): number =>
  per > 100 ? cents + 1 : Math.max(1, Math.floor((cents * per) / 100));
const isFinal = ({ status }: Model): boolean => status === 'refunded' || status === 'cancelled';

function settle(model: Model): void {
  if (model.status !== 'pending') return;
  const unpaid = TOTAL - paidIn(model);
  const held = model.lines.reduce((sum, { hold, position }) => sum + (hold ? (goods[position]?.cents ?? 0) : 0), 0);
  model.held = Math.min(held, unpaid);
  if (held >= unpaid && model.lines.some(({ hold }) => !hold)) model.status = 'paid';
}

export function elapse(model: Model, now: number): void {
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
export function resolved(each: Drawn, model: Model): Action {
  if (each.type !== 'fulfil') return each;
  const [line] = concerned(model, each);
  return { ...each, status: each.status === 'next' ? usual[line?.status ?? 'pending'] : each.status };
}

/** Changes the model; returns the answer. */
export function step(model: Model, each: Action, now: number): string {
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
export function codeOf(error: unknown): string {
  if (error instanceof Problem) return error.code;
  throw error;
}

export const text = (cents: number): string => (cents / 100).toFixed(2);

/** The order as the model has it. */
export const expectedOrder = (model: Model): object => ({
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
export const shownOrder = (order: Schemas['Order']): object => {
  const { order_status, grand_total, paid_amt, refunded_amt, held_amt, balance_amt } = order;
  return {
    ...{ order_status, grand_total, paid_amt, refunded_amt, held_amt, balance_amt },
    payments: order.payments.map((payment) => [payment.amount, payment.refunded_amt]),
    lines: order.lines.map(({ fulfilment, hold }) => [fulfilment.status, hold]),
  };
};
