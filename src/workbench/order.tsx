import type { components } from '../../generated/client/contract.js';
import { badge, Button, table } from './components.js';
import { may, type Session } from './session.js';

type Order = components['schemas']['Order'];
type Step = components['schemas']['RecordFulfilmentRequest']['status'];

/** The next step of an order line with this status, unless the line is held. */
const NEXT: Readonly<Record<string, Step>> = { pending: 'accepted', accepted: 'shipped', shipped: 'delivered' };

/** An order with its amounts, lines and payments, and the actions of the clinic and of its pharmacies. */
export function orderOf(session: Session, order: Order) {
  const { client } = session;
  const { order_no, balance_amt } = order;
  const action = (permission: string, text: string, work: () => Promise<unknown>, label = text) =>
    may(permission) && (
      <Button text={text} label={label} work={() => session.change(work(), `${order_no}: ${text}.`)} />
    );
  const pay = () => client.orders.recordPayment({ order_no, body: { amount: balance_amt } });
  const nextOf = ({ treatmentId, name, pharmacyId, fulfilment, hold }: Order['lines'][number]) => {
    const status = hold === null ? NEXT[fulfilment.status] : undefined;
    if (!status) return null;
    const body = { pharmacyId, status, treatmentIds: [treatmentId] };
    const fulfil = () => client.orders.recordFulfilment({ order_no, body });
    return action('write:fulfilment', `Mark as ${status}`, fulfil, `Mark as ${status}: ${name}`);
  };
  const refundOf = ({ id, amount, refunded_amt }: Order['payments'][number]) => {
    const rest = (Number(amount) - Number(refunded_amt)).toFixed(2);
    const body = { payment_id: id, amount: rest, reason: 'Workbench' };
    const refund = () => client.orders.refundPayment({ order_no, body });
    return rest === '0.00' ? null : action('write:order', `Refund ${rest}`, refund);
  };
  return (
    <>
      <h3>{[`${order_no} `, badge(order.order_status)]}</h3>
      <p>
        Total {order.grand_total}, paid {order.paid_amt}, held {order.held_amt}, due {balance_amt} {order.currency}
      </p>
      {Number(balance_amt) > 0 && action('write:order', `Pay ${balance_amt}`, pay)}
      {table('Lines', order.lines, {
        Treatment: ({ name }) => name,
        Total: ({ line_total }) => line_total,
        Fulfilment: ({ fulfilment, hold }) => badge(hold ? `held: ${hold.reason}` : fulfilment.status),
        Action: nextOf,
      })}
      {table('Payments', order.payments, {
        Amount: ({ amount }) => amount,
        Refunded: ({ refunded_amt }) => refunded_amt,
        Action: refundOf,
      })}
    </>
  );
}
