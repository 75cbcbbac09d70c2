import { itemOf } from './encounterModel.js';
import type { Json } from './history.js';
import type { Effect, Model } from './linearize.js';
import type { Treatment } from './tenants.js';

type Hold = 'revoked' | 'superseded';

interface Line {
  readonly is: string;
  readonly held?: Hold;
  /** Why its approval ended. */
  readonly ended?: Hold;
  readonly hasShipped?: boolean;
  readonly isRecalled?: boolean;
}

/** An order, as far as the rules of openapi/rules.md determine it. Amounts are in cents. */
export interface OrderState {
  /** By treatment, in the order of the lines; empty before the review that creates it. */
  readonly lines: Readonly<Record<string, Line>>;
  /** By reference: the amount and what was refunded of it. */
  readonly payments: Readonly<Record<string, readonly [number, number]>>;
  readonly cancelReason: string | null;
  readonly shipTo: string | null;
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ['accepted', 'exception', 'cancelled'],
  accepted: ['shipped', 'exception', 'cancelled'],
  shipped: ['delivered', 'exception'],
  exception: ['accepted', 'cancelled'],
};
const refused = (...codes: string[]): { refused: string[] } => ({ refused: codes });
export const cents = (amount: unknown): number => Math.round(Number(amount) * 100);
export const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
const hasLeft = ({ is }: Line): boolean => is === 'shipped' || is === 'delivered';

/** @param lines with their prices, and whether each is held or cancelled */
export function settlement(
  lines: readonly { readonly price: number; readonly isHeld: boolean; readonly isCancelled: boolean }[],
  shipping: number,
  received: number,
  returned: number,
) {
  const open = lines.filter(({ isCancelled }) => !isCancelled);
  const due = open.filter(({ isHeld }) => !isHeld);
  const dueAmt = sum(due.map(({ price }) => price)) + (due.length > 0 ? shipping : 0);
  const paid = received - returned;
  const balance = Math.max(0, dueAmt - received);
  const isFree = sum(lines.map(({ price }) => price)) + shipping === 0;
  const rest = balance === 0 && (received > 0 || isFree) ? 'paid' : 'pending';
  return {
    paid,
    balance,
    refundable: Math.max(0, paid - dueAmt),
    held: sum(open.filter(({ isHeld }) => isHeld).map(({ price }) => price)),
    status: open.length === 0 ? 'cancelled' : received > 0 && paid === 0 ? 'refunded' : rest,
  };
}

/** @param treatments of the order, in the order of its lines */
export function orderModel(treatments: readonly Treatment[]): Model<OrderState> {
  const amountsOf = ({ lines, payments }: OrderState) =>
    settlement(
      treatments.map(({ id, price }) => {
        return { price, isHeld: lines[id]?.held !== undefined, isCancelled: lines[id]?.is === 'cancelled' };
      }),
      sum(treatments.map(({ shipping }) => shipping)),
      sum(Object.values(payments).map(([amount]) => amount)),
      sum(Object.values(payments).map(([, back]) => back)),
    );
  const event = (type: string, state: OrderState): string => {
    const { status, balance } = amountsOf(state);
    return `order.${type} ${status} ${(balance / 100).toFixed(2)}`;
  };
  const lineOf = ({ lines }: OrderState, { id }: Treatment): Line => lines[id] ?? { is: '' };
  const isHeld = (state: OrderState, each: Treatment): boolean => lineOf(state, each).held !== undefined;
  const withLines = (state: OrderState, ids: readonly string[], change: Partial<Line>): OrderState => ({
    ...state,
    lines: Object.fromEntries(
      Object.entries(state.lines).map(([id, line]) => [id, ids.includes(id) ? { ...line, ...change } : line]),
    ),
  });
  /** Holds the lines that have not left. */
  const hold = (state: OrderState, ids: readonly string[], held: Hold): [OrderState, string[]] => {
    const apt = ids.filter((id) => {
      const line = state.lines[id];
      return line && !line.held && line.is !== 'cancelled' && !hasLeft(line);
    });
    if (apt.length === 0) return [state, []];
    const next = withLines(state, apt, { held });
    const isPaidNow = amountsOf(next).status === 'paid' && amountsOf(state).status !== 'paid';
    return [next, [`order.held ${held} ${apt.join()}`, ...(isPaidNow ? [event('paid', next)] : [])]];
  };
  /** The end of the approvals of these treatments. */
  const end = (state: OrderState, isMeant: (treatment: Treatment) => boolean, reason: Hold): Effect<OrderState> => {
    const ids = treatments
      .filter((each) => isMeant(each) && state.lines[each.id] && !lineOf(state, each).ended)
      .map(({ id }) => id);
    const [next, events] = hold(withLines(state, ids, { ended: reason }), ids, reason);
    const left = ids.filter((id) => reason === 'revoked' && next.lines[id] && hasLeft(next.lines[id]));
    if (left.length === 0) return { state: next, events };
    const recalled = withLines(next, left, { isRecalled: true });
    return { state: recalled, events: [...events, `order.recalled revoked ${left.join()}`] };
  };

  const steps: Record<string, (state: OrderState, input: Json, note?: string) => Effect<OrderState>> = {
    submitReview(state) {
      if (Object.keys(state.lines).length > 0) return refused();
      const next = { ...state, lines: Object.fromEntries(treatments.map(({ id }) => [id, { is: 'pending' }])) };
      const paid = amountsOf(next).status === 'paid' ? [event('paid', next)] : [];
      return { state: next, events: [event('created', next), ...paid] };
    },
    recordPayment(state, { amount, reference }) {
      const { balance } = amountsOf(state);
      if (treatments.every((each) => isHeld(state, each))) return refused('approval_ended');
      if (balance === 0) return refused('invalid_state');
      if (cents(amount) > balance) return refused('payment_exceeds_balance');
      const next = { ...state, payments: { ...state.payments, [reference]: [cents(amount), 0] as const } };
      return { state: next, events: [event(amountsOf(next).status === 'paid' ? 'paid' : 'updated', next)] };
    },
    refundPayment(state, { amount }, reference = '') {
      const payment = state.payments[reference];
      if (!payment) return refused('payment_not_found');
      if (amountsOf(state).paid === 0) return refused('invalid_state');
      if (cents(amount) > payment[0] - payment[1]) return refused('refund_exceeds_payment');
      const payments = { ...state.payments, [reference]: [payment[0], payment[1] + cents(amount)] as const };
      return { state: { ...state, payments }, events: [event('refunded', { ...state, payments })] };
    },
    cancelOrder(state, { reason }) {
      const isTaken = Object.values(state.lines).some(({ is, hasShipped }) => is === 'accepted' || hasShipped);
      const isPaid = Object.keys(state.payments).length > 0;
      if (amountsOf(state).status === 'cancelled' || isPaid || isTaken) return refused('invalid_state');
      const next = { ...withLines(state, Object.keys(state.lines), { is: 'cancelled' }), cancelReason: reason };
      return { state: next, events: [event('cancelled', next)] };
    },
    recordFulfilment(state, { pharmacyId, treatmentIds, status, acknowledgeChanges }) {
      const own = treatments.filter(({ pharmacy }) => pharmacy === pharmacyId);
      const free = own.filter((each) => !isHeld(state, each));
      const lines = treatmentIds ? own.filter(({ id }) => treatmentIds.includes(id)) : free.length > 0 ? free : own;
      if (status !== 'cancelled' && lines.some((each) => isHeld(state, each))) return refused('approval_ended');
      const isAllowed = (each: Treatment): boolean => {
        const { is, held } = lineOf(state, each);
        return held ? is !== 'cancelled' : (NEXT[is] ?? []).includes(status);
      };
      if (!lines.every(isAllowed)) return refused('invalid_state');
      const isLeaving = status === 'accepted' || status === 'shipped';
      const { status: orderStatus, balance } = amountsOf(state);
      const isUnpaid = balance > 0 && lines.some(({ isRx }) => isRx);
      if (isLeaving && (orderStatus === 'refunded' || isUnpaid)) return refused('invalid_state');
      if (isLeaving && state.shipTo === null) return refused('ship_to_required');
      const ids = lines.map(({ id }) => id);
      let next = withLines(state, ids, { is: status, ...(status === 'shipped' ? { hasShipped: true } : {}) });
      const events = [`order.fulfilment_updated ${status} ${ids.join()}`];
      for (const reason of status === 'exception' ? (['revoked', 'superseded'] as const) : []) {
        const ended = ids.filter((id) => state.lines[id]?.ended === reason);
        const [after, more] = hold(next, ended, reason);
        next = after;
        events.push(...more);
      }
      // Whether facts about the patient have changed, the order does not tell.
      return { state: next, events, orRefused: isLeaving && !acknowledgeChanges ? ['facts_changed'] : [] };
    },
    setShipTo(state, { name }) {
      const isTaken = Object.values(state.lines).some((line) => line.is === 'accepted' || hasLeft(line));
      return isTaken ? refused('invalid_state') : { state: { ...state, shipTo: name }, events: [] };
    },
    getDispensing(state) {
      if (treatments.every((each) => isHeld(state, each))) return refused('approval_ended');
      return state.shipTo === null ? refused('ship_to_required') : { state, events: [] };
    },
    revokeApprovals: (state, { items }) => end(state, ({ item }) => items.map(itemOf).includes(item), 'revoked'),
    decidedElsewhere: (state, _input, decided = '') => end(state, ({ id }) => decided.includes(id), 'superseded'),
  };
  return {
    step: (state, { kind, intent }) => steps[kind]?.(state, intent.input, intent.note) ?? { state, events: [] },
    shows(state, { kind, body }) {
      if (kind === 'setShipTo') return body.name === state.shipTo;
      if (!body.lines) return true;
      const { status, paid, balance, refundable, held } = amountsOf(state);
      const isSame = body.lines.every((line: Json) => {
        const { is, held: reason, isRecalled = false } = state.lines[line.treatmentId] ?? { is: '' };
        if (line.fulfilment.status !== is) return false;
        return kind === 'getDispensing'
          ? reason === undefined
          : line.hold?.reason === reason && (line.recalledAt !== null) === isRecalled;
      });
      if (!isSame || body.order_status !== status) return false;
      const free = treatments.filter((each) => !isHeld(state, each));
      if (kind === 'getDispensing') return body.shipTo.name === state.shipTo && body.lines.length === free.length;
      const payments = body.payments.map((each: Json) => [
        each.reference,
        [cents(each.amount), cents(each.refunded_amt)],
      ]);
      const expected = Object.entries(state.payments);
      const shown = [body.paid_amt, body.balance_amt, body.refundable_amt, body.held_amt].map(cents);
      return (
        body.lines.length === treatments.length &&
        body.cancelReason === state.cancelReason &&
        String(payments.sort()) === String(expected.sort()) &&
        shown.join() === [paid, balance, refundable, held].join()
      );
    },
  };
}
