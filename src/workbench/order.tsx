import type { components } from '../../generated/client/contract.js';
import { badge, Button, table } from './components.js';
import { may, type Session } from './session.js';

type Order = components['schemas']['Order'];
type Step = components['schemas']['RecordFulfilmentRequest']['status'];

/** The next step of an order line with this status, unless the line is held. */
const NEXT: Readonly<Record<string, Step>> = { pending: 'accepted', accepted: 'shipped', shipped: 'delivered' };

const cents = (amount: string): number => Math.round(Number(amount) * 100);

/** An order with its amounts, lines and payments, and the actions of the clinic and of its pharmacies. */
export function orderOf(session: Session, order: Order) {
  const { client } = session;
  const { order_no } = order;
  const done = (work: Promise<unknown>, text: string) => session.change(work, `${order_no}: ${text}.`);
  const pay = (amount: string) => done(client.orders.recordPayment({ order_no, body: { amount } }), `paid ${amount}`);
  const fulfil = (treatmentId: string, pharmacyId: string, status: Step) => {
    const body = { pharmacyId, status, treatmentIds: [treatmentId] };
    return done(client.orders.recordFulfilment({ order_no, body }), status);
  };
  const refund = (payment_id: string, amount: string) => {
    const body = { payment_id, amount, reason: 'Workbench' };
    return done(client.orders.refundPayment({ order_no, body }), `refunded ${amount}`);
  };
  const nextOf = ({ treatmentId, name, pharmacyId, fulfilment, hold }: Order['lines'][number]) => {
    const next = hold === null && may('write:fulfilment') ? NEXT[fulfilment.status] : undefined;
    const text = `Mark as ${next}`;
    return next && <Button text={text} label={`${text}: ${name}`} work={() => fulfil(treatmentId, pharmacyId, next)} />;
  };
  const refundOf = ({ id, amount, refunded_amt }: Order['payments'][number]) => {
    const rest = ((cents(amount) - cents(refunded_amt)) / 100).toFixed(2);
    return rest !== '0.00' && may('write:order') && <Button text={`Refund ${rest}`} work={() => refund(id, rest)} />;
  };
  const isDue = Number(order.balance_amt) > 0 && may('write:order');
  return (
    <>
      <h3>
        {order_no} {badge(order.order_status)}
      </h3>
      <p>
        Total {order.grand_total}, paid {order.paid_amt}, held {order.held_amt}, due {order.balance_amt} USD
      </p>
      {isDue && <Button text={`Pay ${order.balance_amt}`} work={() => pay(order.balance_amt)} />}
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
