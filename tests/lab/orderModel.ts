import type { Treatment } from './tenants.js';
import { itemOf } from './encounterModel.js';
import type { Json } from './history.js';
import type { Effect, Model } from './linearize.js';

type Hold = 'revoked' | 'superseded';

/** An order, as far as the rules of openapi/rules.md determine it. Amounts are in cents. */
export interface OrderState {
  /** Empty before the review that creates it. */
  readonly status: string;
  /** By treatment, in the order of the lines. */
  readonly lines: Readonly<
    Record<string, { readonly is: string; readonly held?: Hold; readonly ended?: Hold; readonly hasShipped?: boolean }>
  >;
  /** By reference: the amount and what was refunded of it. */
  readonly payments: Readonly<Record<string, readonly [number, number]>>;
  readonly held: number;
  readonly cancelReason: string | null;
  readonly shipTo: string | null;
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ['accepted', 'exception'],
  accepted: ['shipped', 'exception'],
  shipped: ['delivered', 'exception'],
  exception: ['accepted', 'cancelled'],
};
const refused = (...codes: string[]): { refused: string[] } => ({ refused: codes });
export const cents = (amount: unknown): number => Math.round(Number(amount) * 100);
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** @param treatments of the order, in the order of its lines */
export function orderModel(treatments: readonly Treatment[]): Model<OrderState> {
  const grand = sum(treatments.map(({ total }) => total));
  const paidOf = ({ payments }: OrderState): number =>
    sum(Object.values(payments).map(([amount, back]) => amount - back));
  const balanceOf = (state: OrderState): number =>
    ['paid', 'refunded'].includes(state.status) ? 0 : grand - paidOf(state) - state.held;
  const isHeld = (state: OrderState, { id }: Treatment): boolean => state.lines[id]?.held !== undefined;
  const money = (amount: number): string => (amount / 100).toFixed(2);
  const event = (type: string, state: OrderState): string => `order.${type} ${state.status} ${money(balanceOf(state))}`;

  const settled = (state: OrderState): OrderState => {
    if (state.status !== 'pending') return state;
    const due = grand - paidOf(state);
    const held = Math.min(due, sum(treatments.filter((each) => isHeld(state, each)).map(({ total }) => total)));
    return {
      ...state,
      held,
      status: held === due && treatments.some((each) => !isHeld(state, each)) ? 'paid' : 'pending',
    };
  };
  const withLines = (state: OrderState, ids: readonly string[], change: Json): OrderState => ({
    ...state,
    lines: Object.fromEntries(
      Object.entries(state.lines).map(([id, line]) => [id, ids.includes(id) ? { ...line, ...change } : line]),
    ),
  });
  const hold = (state: OrderState, ids: readonly string[], held: Hold): [OrderState, string[]] => {
    if (ids.length === 0) return [state, []];
    const next = settled(withLines(state, ids, { held }));
    const paid = next.status === state.status ? [] : [event('paid', next)];
    return [next, [`order.held ${held} ${ids.join()}`, ...paid]];
  };
  /** The end of the approvals of these items. */
  const end = (state: OrderState, items: readonly string[], reason: Hold): Effect<OrderState> => {
    const ids = treatments.filter(({ item }) => items.includes(item)).map(({ id }) => id);
    if (state.status === '') return { state, events: [] };
    const unended = ids.filter((id) => state.lines[id]?.ended === undefined);
    const ended = withLines(state, unended, { ended: reason });
    if (!['pending', 'paid'].includes(state.status)) return { state: ended, events: [] };
    const isThere = (id: string): boolean => !['shipped', 'delivered'].includes(state.lines[id]?.is ?? '');
    const [next, events] = hold(
      ended,
      ids.filter((id) => isThere(id) && !state.lines[id]?.held),
      reason,
    );
    return { state: next, events };
  };

  const steps: Record<string, (state: OrderState, input: Json, note?: string) => Effect<OrderState>> = {
    submitReview(state) {
      if (state.status !== '') return refused();
      const status = grand === 0 ? 'paid' : 'pending';
      const lines = Object.fromEntries(treatments.map(({ id }) => [id, { is: 'pending' }]));
      const next = { ...state, status, lines };
      return { state: next, events: [event('created', next), ...(status === 'paid' ? [event('paid', next)] : [])] };
    },
    recordPayment(state, { amount, reference }) {
      if (treatments.every((each) => isHeld(state, each))) return refused('approval_ended');
      if (state.status !== 'pending') return refused('invalid_state');
      if (cents(amount) > balanceOf(state)) return refused('payment_exceeds_balance');
      const next = settled({ ...state, payments: { ...state.payments, [reference]: [cents(amount), 0] } });
      return { state: next, events: [event(next.status === 'paid' ? 'paid' : 'updated', next)] };
    },
    refundPayment(state, { amount }, reference = '') {
      const payment = state.payments[reference];
      if (!payment) return refused('payment_not_found');
      if (!['pending', 'paid'].includes(state.status)) return refused('invalid_state');
      if (cents(amount) > payment[0] - payment[1]) return refused('refund_exceeds_payment');
      const payments = { ...state.payments, [reference]: [payment[0], payment[1] + cents(amount)] as const };
      const next = settled({ ...state, payments });
      const isOver = state.status === 'paid' && paidOf(next) === 0;
      const refundedState = isOver ? { ...next, status: 'refunded' } : { ...next, status: state.status };
      return { state: refundedState, events: [event('refunded', refundedState)] };
    },
    cancelOrder(state, { reason }) {
      const isMoot = state.status === 'paid' && treatments.every((each) => isHeld(state, each));
      const isShipped = Object.values(state.lines).some(({ hasShipped }) => hasShipped);
      if ((state.status !== 'pending' && !isMoot) || paidOf(state) !== 0 || isShipped) return refused('invalid_state');
      const next = { ...state, status: 'cancelled', cancelReason: reason };
      return { state: next, events: [event('cancelled', next)] };
    },
    recordFulfilment(state, { pharmacyId, treatmentIds, status }) {
      const own = treatments.filter(({ pharmacy }) => pharmacy === pharmacyId);
      const free = own.filter((each) => !isHeld(state, each));
      const lines = treatmentIds ? own.filter(({ id }) => treatmentIds.includes(id)) : free.length > 0 ? free : own;
      const isLeaving = status === 'accepted' || status === 'shipped';
      if (state.status === 'cancelled' || (state.status === 'refunded' && isLeaving)) return refused('invalid_state');
      if (status !== 'cancelled' && lines.some((each) => isHeld(state, each))) return refused('approval_ended');
      const isAllowed = (line: Treatment): boolean => {
        const is = state.lines[line.id]?.is ?? '';
        return isHeld(state, line) ? is !== 'cancelled' : (NEXT[is] ?? []).includes(status);
      };
      if (!lines.every(isAllowed)) return refused('invalid_state');
      if (status === 'accepted' && state.status !== 'paid' && lines.some(({ isRx }) => isRx))
        return refused('invalid_state');
      if (status === 'shipped' && state.shipTo === null) return refused('ship_to_required');
      const ids = lines.map(({ id }) => id);
      let next = withLines(state, ids, { is: status, ...(status === 'shipped' ? { hasShipped: true } : {}) });
      const events = [`order.fulfilment_updated ${status} ${ids.join()}`];
      for (const reason of status === 'exception' && state.status !== 'refunded'
        ? (['revoked', 'superseded'] as const)
        : []) {
        const [after, more] = hold(
          next,
          ids.filter((id) => state.lines[id]?.ended === reason),
          reason,
        );
        next = after;
        events.push(...more);
      }
      return { state: next, events };
    },
    setShipTo(state, { name }) {
      const isShipped = state.shipTo !== null && Object.values(state.lines).some(({ hasShipped }) => hasShipped);
      return isShipped ? refused('invalid_state') : { state: { ...state, shipTo: name }, events: [] };
    },
    getDispensing(state) {
      if (treatments.every((each) => isHeld(state, each))) return refused('approval_ended');
      return state.shipTo === null ? refused('ship_to_required') : { state, events: [] };
    },
    revokeApprovals: (state, { items }) => end(state, items.map(itemOf), 'revoked'),
    deniedElsewhere: (state, { decisions }) =>
      end(state, decisions.filter(({ decision }: Json) => decision === 'denied').map(itemOf), 'superseded'),
  };
  return {
    step: (state, { kind, intent }) => steps[kind]?.(state, intent.input, intent.note) ?? { state, events: [] },
    shows(state, { kind, body }) {
      if (kind === 'setShipTo') return body.name === state.shipTo;
      if (!body.lines) return true;
      const isSame = body.lines.every(
        ({ treatmentId, fulfilment, hold: held }: Json) =>
          fulfilment.status === state.lines[treatmentId]?.is &&
          (kind === 'getDispensing' ? undefined : held?.reason) === state.lines[treatmentId]?.held,
      );
      const free = treatments.filter((each) => !isHeld(state, each));
      if (!isSame || body.order_status !== state.status) return false;
      if (kind === 'getDispensing') return body.shipTo.name === state.shipTo && body.lines.length === free.length;
      const payments = Object.fromEntries(body.payments.map((each: Json) => [each.reference, each]));
      return (
        body.lines.length === treatments.length &&
        body.cancelReason === state.cancelReason &&
        body.payments.length === Object.keys(state.payments).length &&
        Object.entries(state.payments).every(
          ([reference, [amount, back]]) =>
            cents(payments[reference]?.amount) === amount && cents(payments[reference]?.refunded_amt) === back,
        ) &&
        cents(body.grand_total) === grand &&
        cents(body.paid_amt) === paidOf(state) &&
        cents(body.held_amt) === state.held &&
        cents(body.balance_amt) === balanceOf(state) &&
        sum(body.refunds.map((refund: Json) => cents(refund.amount))) ===
          sum(Object.values(state.payments).map(([, back]) => back))
      );
    },
  };
}
