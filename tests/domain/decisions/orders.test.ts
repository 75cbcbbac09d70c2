import { fulfilmentTransitions } from '../../../src/domain/orders/fulfilments.js';
import { approved, catalog, deny, typesOf } from './approved.js';
import { Life } from './life.js';
import { codeOf, problemOf, refusalOf, shipTo } from './world.js';

const amounts = (life: Life, index = 0) => {
  const { orderStatus, balanceAmt, heldAmt, paidAmt, refundedAmt, refundableAmt } = life.order(index);
  const texts = [balanceAmt, heldAmt, paidAmt, refundedAmt, refundableAmt].map((one) => one.toFixed(2));
  return [orderStatus, ...texts];
};
const holds = (life: Life, index = 0) => life.order(index).lines.map(({ holdReason }) => holdReason);

describe('an order', () => {
  it('has a balance of lines and shipping until it is paid', () => {
    const life = approved();
    expect(amounts(life)).toEqual(['pending', '1219.00', '0.00', '0.00', '0.00', '0.00']);
    life.pay(0, '1000.00');
    expect(amounts(life)).toEqual(['pending', '219.00', '0.00', '1000.00', '0.00', '0.00']);
    life.pay(0);
    expect(amounts(life)).toEqual(['paid', '0.00', '0.00', '1219.00', '0.00', '0.00']);
  });

  it('is refundable for lines that are held after the payment, and a refund leaves no balance', () => {
    const life = approved();
    life.pay(0);
    life.revoke(0);
    expect(amounts(life)).toEqual(['paid', '0.00', '1189.00', '1219.00', '0.00', '1219.00']);
    life.refund(0, '219.00');
    expect(amounts(life)).toEqual(['paid', '0.00', '1189.00', '1000.00', '219.00', '1000.00']);
    life.refund(0, '1000.00');
    expect(amounts(life)).toEqual(['refunded', '0.00', '1189.00', '0.00', '1219.00', '0.00']);
  });

  it('has a balance of the remaining lines and all shipping after a cancellation, and is cancelled when no line remains', () => {
    const life = approved();
    life.fulfil(0, 'cancelled', ['filler']);
    expect(amounts(life)).toEqual(['pending', '569.00', '0.00', '0.00', '0.00', '0.00']);
    life.fulfil(0, 'cancelled', ['botox', 'semaglutide']);
    expect(amounts(life)).toEqual(['cancelled', '0.00', '0.00', '0.00', '0.00', '0.00']);
  });

  it('refuses a payment above the balance, and one when every line is held', () => {
    const life = approved();
    expect(codeOf(() => life.pay(0, '1219.01'))).toBe('payment_exceeds_balance');
    life.revoke(0);
    expect(codeOf(() => life.pay(0, '1.00'))).toBe('approval_ended');
  });

  it('refuses a payment if it is paid, created as paid, or cancelled', () => {
    const paid = approved();
    paid.pay(0);
    const free = new Life([{ id: 'sample', category: 'toxins', price: '0.00' }]);
    free.review(free.request(['sample']));
    expect(typesOf(free).slice(-2)).toEqual(['order.created', 'order.paid']);
    const cancelled = approved();
    cancelled.cancelOrder(0);
    for (const life of [paid, free, cancelled]) expect(codeOf(() => life.pay(0, '0.01'))).toBe('invalid_state');
  });

  it('allows refunds up to the amount of each payment, and then has its balance again', () => {
    const life = approved();
    expect(codeOf(() => life.refund(0, '1.00'))).toBe('payment_not_found');
    life.pay(0, '100.00');
    expect(codeOf(() => life.refund(0, '100.01'))).toBe('refund_exceeds_payment');
    life.refund(0, '99.99');
    life.refund(0, '0.01');
    expect(amounts(life)).toEqual(['refunded', '1119.00', '0.00', '0.00', '100.00', '0.00']);
    expect(codeOf(() => life.refund(0, '0.01'))).toBe('invalid_state');
    life.pay(0);
    expect(amounts(life)[0]).toBe('paid');
  });
});

describe('a line of an order', () => {
  it('that is cancelled is skipped by a report that names no treatment', () => {
    const life = approved();
    life.pay(0);
    life.fulfil(0, 'cancelled', ['botox']);
    life.fulfil(0, 'accepted');
    expect(life.order(0).lines.map(({ status }) => status)).toEqual(['cancelled', 'accepted', 'accepted']);
  });

  const statuses = Object.keys(fulfilmentTransitions) as (keyof typeof fulfilmentTransitions)[];
  it.each(statuses)(
    'in the status %s refuses exactly the statuses that cannot follow it (R-124), and names it as current_status',
    (from) => {
      for (const to of statuses) {
        if (to === 'pending') continue;
        const life = new Life(catalog);
        life.review(life.request(['botox']));
        const [encounter] = life.encounters;
        const orders = encounter?.orders.map((order) => {
          return { ...order, lines: order.lines.map((line) => ({ ...line, status: from })) };
        });
        if (encounter && orders) life.encounters[0] = { ...encounter, orders };
        const problem = problemOf(() => life.fulfil(0, to));
        const isAllowed = fulfilmentTransitions[from].includes(to);
        expect([from, to, problem?.extra]).toEqual([from, to, isAllowed ? undefined : { current_status: from }]);
      }
    },
  );

  it('changes only together with all other lines that the report is about', () => {
    const life = approved();
    life.pay(0);
    const steps = () => life.order(0).lines.map(({ status }) => status);
    life.fulfil(0, 'exception', ['filler'], { reason: 'Out of stock.' });
    expect(steps()).toEqual(['pending', 'exception', 'pending']);
    life.fulfil(0, 'accepted');
    life.fulfil(0, 'shipped', ['botox']);
    expect(refusalOf(() => life.fulfil(0, 'shipped'))).toEqual(['invalid_state', '#/lines/0']);
    expect(steps()).toEqual(['shipped', 'accepted', 'accepted']);
    expect(refusalOf(() => life.fulfil(0, 'delivered', ['botox', 'peptide']))).toEqual([
      ...['treatment_not_found', '#/treatmentIds/1'],
    ]);
    expect(codeOf(() => life.fulfil(0, 'delivered', undefined, { pharmacyId: 'another' }))).toBe('order_not_found');
  });

  it('cannot ship after the refund of the order, but can be delivered', () => {
    const life = approved();
    life.pay(0);
    life.fulfil(0, 'accepted');
    life.fulfil(0, 'shipped', ['botox']);
    life.refund(0, '1219.00');
    life.fulfil(0, 'delivered', ['botox']);
    expect(problemOf(() => life.fulfil(0, 'shipped', ['filler']))?.extra).toEqual({ current_status: 'refunded' });
  });

  it('needs a complete address to be accepted, and the address is fixed from then on', () => {
    const life = new Life(catalog);
    life.review(life.request(['botox', 'filler'], { shipTo: { name: 'Jane', address1: ' ' } as never }));
    const parts = ['address1', 'city', 'state', 'postal', 'country'].map((part) => `#/shipTo/${part}`);
    expect(refusalOf(() => life.fulfil(0, 'accepted'))).toEqual(['ship_to_required', ...parts]);
    life.fulfil(0, 'exception');
    life.sendTo(0, shipTo);
    life.fulfil(0, 'accepted', ['botox']);
    for (const status of ['shipped', 'delivered'] as const) {
      expect(codeOf(() => life.sendTo(0, shipTo))).toBe('invalid_state');
      life.fulfil(0, status, ['botox']);
    }
    expect(codeOf(() => life.sendTo(0, shipTo))).toBe('invalid_state');
  });
});

it('an order can be cancelled until a payment is recorded, or a pharmacy has accepted a line', () => {
  const life = approved();
  life.fulfil(0, 'exception', ['botox']);
  life.cancelOrder(0);
  expect(life.order(0).lines.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect(typesOf(life).at(-1)).toBe('order.cancelled');
  const obstacles: ((other: Life) => void)[] = [
    (other) => other.cancelOrder(0),
    (other) => other.pay(0, '1.00'),
    (other) => {
      other.pay(0, '1.00');
      other.refund(0, '1.00');
    },
    (other) => other.fulfil(0, 'accepted', ['botox']),
    (other) => {
      for (const status of ['accepted', 'shipped', 'exception'] as const) other.fulfil(0, status, ['botox']);
    },
  ];
  for (const obstacle of obstacles) {
    const other = approved();
    obstacle(other);
    expect(codeOf(() => other.cancelOrder(0))).toBe('invalid_state');
  }
});

describe('lines whose approval ends', () => {
  it('are held when it expires, with or without a prescription, unless their pharmacy has accepted them', () => {
    const life = approved();
    life.fulfil(0, 'accepted', ['botox']);
    life.pass(32);
    expect(holds(life)).toEqual([null, null, 'expired']);
    life.pass(400);
    expect(holds(life)).toEqual([null, 'expired', 'expired']);
  });

  it.each([[['accepted']], [['accepted', 'shipped']]] as const)(
    'by time after they were %j are held once they become an exception',
    (taken) => {
      const life = approved();
      life.pay(0);
      for (const status of taken) life.fulfil(0, status, ['semaglutide']);
      life.pass(32);
      expect(holds(life)).toEqual([null, null, null]);
      life.fulfil(0, 'exception', ['semaglutide']);
      expect(holds(life)).toEqual([null, null, 'expired']);
    },
  );

  it.each([
    ['a denial', { decision: 'denied' as const }, ['superseded', 'superseded', null]],
    [
      'an exception',
      { decision: 'approved' as const, exceptTreatmentIds: ['botox'] },
      ['superseded', 'superseded', null],
    ],
    ['a new approval', { decision: 'approved' as const }, ['superseded', 'superseded', null]],
  ])('are held by %s of their treatments, and other lines are not', (_what, decision, expected) => {
    const life = approved();
    life.fulfil(0, 'accepted', ['filler']);
    life.review(life.request(['botox', 'filler']), () => decision);
    expect(holds(life)).toEqual(expected);
    expect(life.encounters[0]?.gfeItems.map(({ status }) => status)).toEqual(['superseded', 'approved']);
  });

  it('are held alone, and other treatments of the item stay approved', () => {
    const life = approved();
    life.review(life.request(['botox']));
    expect(holds(life)).toEqual(['superseded', null, null]);
    expect(life.encounters[0]?.gfeItems.map(({ status }) => status)).toEqual(['approved', 'approved']);
    expect(life.events.find(({ type }) => type === 'gfe.superseded')?.data).toMatchObject({ treatmentIds: ['botox'] });
  });

  it('are recalled after a revocation if they have shipped, and are held if they return', () => {
    const life = approved();
    life.fulfil(0, 'accepted', ['botox', 'filler']);
    life.fulfil(0, 'shipped', ['botox']);
    life.revoke(0);
    expect(holds(life)).toEqual([null, 'revoked', 'revoked']);
    expect(life.order(0).lines.map(({ recalledAt }) => recalledAt !== null)).toEqual([true, false, false]);
    expect(typesOf(life).slice(-3)).toEqual(['gfe.revoked', 'order.held', 'order.recalled']);
    life.fulfil(0, 'exception', ['botox']);
    expect(holds(life)).toEqual(['revoked', 'revoked', 'revoked']);
    expect(codeOf(() => life.fulfil(0, 'accepted', ['botox']))).toBe('approval_ended');
  });
});

it('a line that the operator stops after its shipment is held once it becomes an exception', () => {
  const life = approved();
  life.fulfil(0, 'accepted', ['botox']);
  life.fulfil(0, 'shipped', ['botox']);
  life.stop(0);
  expect(holds(life)).toEqual([null, 'stopped', 'stopped']);
  life.fulfil(0, 'exception', ['botox']);
  expect(holds(life)).toEqual(['stopped', 'stopped', 'stopped']);
  expect(codeOf(() => life.fulfil(0, 'shipped', ['botox']))).toBe('approval_ended');
});

describe('a shipment', () => {
  it('of a prescription is accepted only after the payment of the order, and ships only with the acknowledgement of later changes', () => {
    const life = approved();
    expect(codeOf(() => life.fulfil(0, 'accepted', ['semaglutide']))).toBe('invalid_state');
    life.pay(0);
    life.fulfil(0, 'accepted', ['semaglutide']);
    life.addendum(0);
    expect(codeOf(() => life.fulfil(0, 'shipped', ['semaglutide']))).toBe('facts_changed');
    life.fulfil(0, 'shipped', ['semaglutide'], { acknowledgeChanges: true });
    expect(life.order(0).lines[2]?.status).toBe('shipped');
  });

  it('without carrier and tracking number clears those of an earlier shipment', () => {
    const life = approved();
    life.fulfil(0, 'accepted', ['botox']);
    life.fulfil(0, 'shipped', ['botox'], { carrier: 'UPS', trackingNumber: '1Z' });
    for (const status of ['exception', 'accepted', 'shipped'] as const) life.fulfil(0, status, ['botox']);
    expect(life.order(0).lines[0]).toMatchObject({ status: 'shipped', carrier: null, trackingNumber: null });
  });
});

it('recordFulfilment accepts a line despite denials in its own review, and answers facts_changed after later denials', () => {
  const life = new Life(catalog);
  life.review(life.request(['botox', 'semaglutide']), (category) => ({
    decision: category === 'weight' ? 'denied' : 'approved',
  }));
  life.fulfil(0, 'accepted', ['botox']);
  life.review(life.request(['semaglutide']), deny);
  expect(codeOf(() => life.fulfil(0, 'shipped', ['botox']))).toBe('facts_changed');
});

it('an expired approval stays expired when the treatment is decided again, and its accepted lines are held', () => {
  const life = approved();
  life.pay(0);
  life.fulfil(0, 'accepted', ['semaglutide']);
  life.pass(40);
  const item = life.encounters[0]?.gfeItems[1];
  life.review(life.request(['semaglutide']), deny);
  expect(life.encounters[0]?.gfeItems[1]).toEqual(item);
  expect(typesOf(life)).not.toContain('gfe.superseded');
  expect(holds(life)).toEqual([null, null, 'superseded']);
});

it('a pharmacy that cancels every line cancels the order, which emits order.cancelled', () => {
  const life = approved();
  life.fulfil(0, 'cancelled', ['botox', 'filler', 'semaglutide']);
  expect(typesOf(life).slice(-2)).toEqual(['order.fulfilment_updated', 'order.cancelled']);
});
