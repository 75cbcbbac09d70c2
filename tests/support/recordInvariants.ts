import type { Schemas } from '../../src/contract.js';

// Invariants of an encounter and its orders, as responses show them.

const cents = (amount: string): number => Math.round(Number(amount) * 100);
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** amounts and status of an order follow from its lines, payments and refunds. @returns the faults */
export function moneyFaults(order: Schemas['Order']): string[] {
  const { lines, payments, refunds } = order;
  const of = (parts: typeof lines, field: 'unit_price' | 'line_total' | 'shipping_amt'): number =>
    sum(parts.map((line) => cents(line[field])));
  const open = lines.filter(({ fulfilment }) => fulfilment.status !== 'cancelled');
  const due = open.filter(({ hold }) => hold === null);
  const dueAmt = of(due, 'unit_price') + (due.length > 0 ? of(lines, 'shipping_amt') : 0);
  const received = sum(payments.map(({ amount }) => cents(amount)));
  const refunded = sum(refunds.map(({ amount }) => cents(amount)));
  const paid = received - refunded;
  const balance = Math.max(0, dueAmt - received);
  const rest = balance === 0 && (received > 0 || of(lines, 'line_total') === 0) ? 'paid' : 'pending';
  const expected = {
    sub_total: of(lines, 'unit_price'),
    total_shipping_amt: of(lines, 'shipping_amt'),
    grand_total: of(lines, 'line_total'),
    refunded_amt: refunded,
    paid_amt: paid,
    balance_amt: balance,
    held_amt: of(
      open.filter(({ hold }) => hold !== null),
      'unit_price',
    ),
    refundable_amt: Math.max(0, paid - dueAmt),
  };
  const status = open.length === 0 ? 'cancelled' : received > 0 && paid === 0 ? 'refunded' : rest;
  return [
    ...(Object.keys(expected) as (keyof typeof expected)[]).flatMap((field) => {
      const [shown, amount] = [order[field], expected[field]];
      return cents(shown) === amount ? [] : [`${field} is ${shown}, not ${amount} cents`];
    }),
    ...(order.order_status === status ? [] : [`order_status is ${order.order_status}, not ${status}`]),
    ...(received > cents(order.grand_total) ? ['more was paid than the order costs'] : []),
  ];
}

const LEFT = ['shipped', 'delivered'];

/** the decisions of a review, the lines of its orders and their shipments agree. */
export function approvalFaults(encounter: Schemas['Encounter'], orders: readonly Schemas['Order'][]): string[] {
  const [first] = orders;
  const approved = encounter.gfe_data.filter(({ decidedAt, denialReason }) => decidedAt && denialReason === null);
  const isOrdered = encounter.status === 'completed';
  const ordered = approved.flatMap(({ treatmentIds, declinedTreatmentIds }) =>
    treatmentIds.filter((id) => !declinedTreatmentIds.includes(id)),
  );
  const lines = orders.flatMap((order) => order.lines);
  return [
    ...((encounter.order_no !== null) === isOrdered
      ? []
      : [`status is ${encounter.status}, order_no ${encounter.order_no}`]),
    ...(!first ||
    first.lines
      .map(({ treatmentId }) => treatmentId)
      .sort()
      .join() === ordered.sort().join()
      ? []
      : [`${first.order_no} does not order what was approved`]),
    ...lines.flatMap(({ treatmentId, hold, fulfilment, recalledAt }) => {
      const item = encounter.gfe_data.find(({ treatmentIds }) => treatmentIds.includes(treatmentId));
      const hasEnded = item?.status === 'revoked' || item?.status === 'superseded';
      const hasLeft = LEFT.includes(fulfilment.status);
      const isStopped = hold !== null || fulfilment.status === 'cancelled' || hasLeft;
      return [
        ...(hold !== null && hasLeft ? [`the held line of ${treatmentId} has left`] : []),
        ...(hasEnded && !isStopped ? [`${treatmentId} is ${item.status}, but its line is not held`] : []),
        // If the item has several treatments, a later decision may have ended the approval of this one earlier.
        ...(item?.status === 'revoked' && item.treatmentIds.length === 1 && hasLeft && recalledAt === null
          ? [`${treatmentId} has left and is revoked, but not recalled`]
          : []),
      ];
    }),
  ];
}
