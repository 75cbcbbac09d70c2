import type { components } from '../../generated/client/contract.js';
import { badge, button, buttons, element, notify, table } from './page.js';
import { may, type Session } from './session.js';

type Order = components['schemas']['Order'];
type Step = components['schemas']['RecordFulfilmentRequest']['status'];

/** The next step of an order line with this status, unless the line is held. */
const NEXT: Readonly<Record<string, Step>> = { pending: 'accepted', accepted: 'shipped', shipped: 'delivered' };

const cents = (amount: string): number => Math.round(Number(amount) * 100);

/** An order with its amounts, lines and payments, and the actions of the clinic and of its pharmacies. */
export function showOrder(session: Session, order: Order): HTMLElement {
  const { client } = session;
  const path = { order_no: order.order_no };
  const done = async (text: string): Promise<void> => {
    notify(`${order.order_no}: ${text}.`);
    await session.refresh();
  };
  const pay = async (): Promise<void> => {
    await client.post('/orders/{order_no}/payments', { params: { path }, body: { amount: order.balance_amt } });
    await done(`paid ${order.balance_amt}`);
  };
  const fulfil = (treatmentId: string, pharmacyId: string, status: Step) => async () => {
    const body = { pharmacyId, status, treatmentIds: [treatmentId] };
    await client.post('/orders/{order_no}/fulfilments', { params: { path }, body });
    await done(status);
  };
  const refund = (payment_id: string, amount: string) => async () => {
    const body = { payment_id, amount, reason: 'Workbench' };
    await client.post('/orders/{order_no}/refunds', { params: { path }, body });
    await done(`refunded ${amount}`);
  };
  const lines = order.lines.map(({ treatmentId, name, line_total, pharmacyId, fulfilment, hold }) => {
    const next = NEXT[fulfilment.status];
    return [
      name,
      line_total,
      badge(hold === null ? fulfilment.status : `held: ${hold.reason}`),
      next === undefined || hold || !may('write:fulfilment')
        ? ''
        : button(`Mark as ${next}`, fulfil(treatmentId, pharmacyId, next), {
            'aria-label': `Mark as ${next}: ${name}`,
          }),
    ];
  });
  const payments = order.payments.map(({ id, amount, refunded_amt }) => {
    const rest = ((cents(amount) - cents(refunded_amt)) / 100).toFixed(2);
    return [
      amount,
      refunded_amt,
      rest === '0.00' || !may('write:order') ? '' : button(`Refund ${rest}`, refund(id, rest)),
    ];
  });
  return element(
    'div',
    {},
    element('h3', {}, `${order.order_no} `, badge(order.order_status)),
    element(
      'p',
      {},
      `Total ${order.grand_total}, paid ${order.paid_amt}, held ${order.held_amt}, due ${order.balance_amt} USD`,
    ),
    buttons(Number(order.balance_amt) > 0 && may('write:order') ? button(`Pay ${order.balance_amt}`, pay) : null),
    table('Lines', ['Treatment', 'Total', 'Fulfilment', 'Action'], lines),
    table('Payments', ['Amount', 'Refunded', 'Action'], payments),
  );
}
