import type { Json } from './history.js';
import { recent } from './scene.js';
import { onOrder, read, type Action } from './turn.js';

/** A complete address. */
export const shipTo = (name: string) => ({
  ...{ name, address1: '500 Congress Avenue', city: 'Austin', state: 'TX', postal: '78701', country: 'US' },
});

export const getOrder: Action = ({ random, scene }) => {
  const order = recent(random, scene.orders.keys());
  return order === undefined ? undefined : read('getOrder', `/orders/${order}`, { order });
};

const positive = (amount: string): string => (Number(amount) > 0 ? amount : '1.00');

const pay = onOrder('recordPayment', '/payments', ({ random }, _order, known) => ({
  amount: random.chance(0.3) && known ? positive(known.balance_amt) : `${random.int(60) + 1}.${random.int(90) + 10}`,
  reference: random.uuid(),
}));

const refund = onOrder('refundPayment', '/refunds', ({ random }, _order, known) => {
  if (!known?.payments.length) return undefined;
  const { id, amount, reference } = random.pick<Json>(known.payments);
  const part = random.chance(0.5) ? amount : '1.50';
  return { payment_id: id, amount: part, reason: random.uuid(), note: reference };
});

const fulfil = onOrder('recordFulfilment', '/fulfilments', ({ random }, _order, known) => {
  if (!known) return undefined;
  const { pharmacyId, treatmentId, fulfilment } = random.pick<Json>(known.lines);
  const next = { pending: 'accepted', accepted: 'shipped', shipped: 'delivered', exception: 'accepted' }[
    String(fulfilment.status)
  ];
  const status =
    random.chance(0.85) && next ? next : random.pick(['accepted', 'shipped', 'delivered', 'exception', 'cancelled']);
  const acknowledged = random.chance(0.8) ? { acknowledgeChanges: true } : {};
  return { pharmacyId, status, ...acknowledged, ...(random.chance(0.5) ? { treatmentIds: [treatmentId] } : {}) };
});

const getDispensing: Action = ({ random, scene }) => {
  const order = recent(random, scene.orders.keys());
  return order === undefined ? undefined : read('getDispensing', `/orders/${order}/dispensing`, { order });
};

export const setShipTo = onOrder('setShipTo', '/ship-to', ({ random }) => shipTo(random.uuid()), 'PUT');

/** The actions of clients for billing and of pharmacies, by weight. */
export const billing: readonly (readonly [number, Action])[] = [
  [14, getOrder],
  [30, pay],
  [14, refund],
  [4, onOrder('cancelOrder', '/cancel', () => ({ reason: 'Not needed.' }))],
  [4, () => read('listOrders', '/orders?limit=10')],
];
export const pharmacy: readonly (readonly [number, Action])[] = [
  [10, getOrder],
  [36, fulfil],
  [5, getDispensing],
];
