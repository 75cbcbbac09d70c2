import { createApiClient } from '../../../src/domain/access/apiClients.js';
import { holdExpiredLines } from '../../../src/domain/sweeps/orderHolds.js';
import {
  encounterBody,
  newCategory,
  newClinic,
  newPartner,
  newProduct,
  newToken,
  type Partner,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { eventsAbout, getOrder, pay } from '../../support/orders.js';
import { callerContext } from '../../support/patientLives.js';
import { expectProblem } from '../../support/refusals.js';
import { completedEncounter, deny, reviewed, reviewer } from '../../support/reviews.js';

const harness = await openHarness();
let partner = await newPartner(harness);
const MONTH = 31 * 24 * 3_600;

type Body = Answer['body'];
type Token = Pick<Partner, 'token'>;

const orderOf = async ({ order_no }: Body, owner: Token = partner): Promise<Body> =>
  (await getOrder(harness, owner, order_no)).body;
const post = (path: string, json: object): Promise<Answer> =>
  call(harness, `POST ${path}`, { token: partner.token, json });
const fulfil = ({ order_no }: Body, line: Body, status: string, more = {}): Promise<Answer> =>
  post(`/orders/${order_no}/fulfilments`, { pharmacyId: line.pharmacyId, status, ...more });
const revoke = ({ encounter_id }: Body, ...items: Body[]): Promise<Answer> => {
  const named = items.map(({ categoryId, subcategoryId }) => ({ categoryId, subcategoryId }));
  return post(`/encounters/${encounter_id}/revoke`, { reviewerRef: reviewer, items: named, reason: 'Labs.' });
};
const refund = async ({ order_no }: Body, amount: string): Promise<Answer> => {
  const [{ id }] = (await orderOf({ order_no })).payments;
  const headers = { 'Idempotency-Key': `refund-${order_no}-${amount}` };
  const json = { payment_id: id, amount, reason: 'Held.' };
  return call(harness, `POST /orders/${order_no}/refunds`, { token: partner.token, json, headers });
};
/** Moves the clock, and replaces the token, which expires. */
async function wait(seconds: number): Promise<void> {
  harness.clock.advance(seconds);
  partner = { ...partner, token: await newToken(harness, partner) };
}
const holdsOf = (order: Body): (string | null)[] => order.lines.map(({ hold }: Body) => hold && hold.reason);
const statusesOf = (order: Body): string[] => order.lines.map(({ fulfilment }: Body) => fulfilment.status);
const heldEvents = async ({ order_no }: Body): Promise<Record<string, unknown>[]> =>
  (await eventsAbout(harness, partner, { order_no }, 'order.held')).map(({ data }) => data);
const heldOrders = async (query = 'held=true', { token }: Token = partner): Promise<string[]> =>
  (await call(harness, `GET /orders?${query}&limit=100`, { token })).body.data.map(({ order_no }: Body) => order_no);
const sweep = async (): Promise<number> =>
  holdExpiredLines(await callerContext(harness, partner, harness.domain.now), partner.tenantId);

/** A completed encounter with a line of 255.00 for each product, and its order. */
async function ordered(...changes: Parameters<typeof newProduct>[2][]): Promise<{ encounter: Body; order: Body }> {
  const pharmacyId = harness.domain.newId();
  const treatmentIds = await Promise.all(
    changes.map(async (change) => {
      return newProduct(harness, partner, { pharmacyId, ...(await newCategory(harness, partner)), ...change });
    }),
  );
  const encounter = await completedEncounter(harness, partner, { treatmentIds });
  return { encounter, order: await orderOf(encounter) };
}

const monthly = async (): Promise<object> => {
  const group = await newCategory(harness, partner);
  const where = { tenantId: partner.tenantId, id: group.categoryId };
  await harness.domain.db.prisma.category.updateMany({
    where,
    data: { reviewOften: 'MONTHLY', reviewRecurring: true },
  });
  return { ...group, isRx: true };
};

describe('a revocation', () => {
  it('holds lines that are paid and accepted by the pharmacy, so that they can be cancelled but not shipped', async () => {
    const { encounter, order } = await ordered({});
    const [line] = order.lines;
    await pay(harness, partner, order.order_no, { amount: '255.00' });
    await fulfil(order, line, 'accepted');
    harness.clock.advance(60);
    await revoke(encounter, ...encounter.gfe_data);
    const held = await orderOf(order);
    expect(held.lines[0].hold).toEqual({ reason: 'revoked', at: harness.clock.now.toISOString() });
    expect(held).toMatchObject({ order_status: 'paid', paid_amt: '255.00', held_amt: '0.00', balance_amt: '0.00' });
    const faults = [{ pointer: '#/lines/0', code: 'approval_ended' }];
    for (const status of ['shipped', 'exception', 'delivered']) {
      expectProblem(await fulfil(order, line, status), 409, 'approval_ended', faults);
    }
    expect(statusesOf((await fulfil(order, line, 'cancelled')).body)).toEqual(['cancelled']);
    expectProblem(await fulfil(order, line, 'cancelled'), 409, 'invalid_state');
    const treatmentIds = [line.treatmentId];
    const about = { order_no: order.order_no, encounter_id: encounter.encounter_id };
    expect(await heldEvents(order)).toEqual([{ ...about, reason: 'revoked', treatmentIds }]);
    expect(await heldOrders()).toContain(order.order_no);
    expect(await heldOrders('held=false')).not.toContain(order.order_no);
    expect((await refund(order, '255.00')).body).toMatchObject({ order_status: 'refunded', balance_amt: '0.00' });
  });

  it('leaves shipped lines unchanged, and lets the other lines of the order be paid and shipped', async () => {
    const { encounter, order } = await ordered({}, {}, {});
    const [shipped, held, free] = order.lines;
    for (const status of ['accepted', 'shipped']) {
      await fulfil(order, shipped, status, { treatmentIds: [shipped.treatmentId] });
    }
    await revoke(encounter, ...encounter.gfe_data.slice(0, 2));
    const after = await orderOf(order);
    expect(holdsOf(after)).toEqual([null, 'revoked', null]);
    const due = { grand_total: '765.00', paid_amt: '0.00', held_amt: '255.00', balance_amt: '510.00' };
    expect(after).toMatchObject({ order_status: 'pending', ...due });
    expectProblem(await pay(harness, partner, order.order_no, { amount: '510.01' }), 409, 'payment_exceeds_balance');
    const paid = await pay(harness, partner, order.order_no, { amount: '510.00' });
    expect(paid.body).toMatchObject({ order_status: 'paid', held_amt: '255.00', balance_amt: '0.00' });
    const named = await fulfil(order, held, 'accepted', { treatmentIds: [held.treatmentId, free.treatmentId] });
    expectProblem(named, 409, 'approval_ended', [{ pointer: '#/lines/1' }]);
    await fulfil(order, free, 'accepted', { treatmentIds: [free.treatmentId] });
    expect(statusesOf((await fulfil(order, free, 'shipped', { treatmentIds: [free.treatmentId] })).body)).toEqual([
      ...['shipped', 'pending', 'shipped'],
    ]);
    // Without treatments the request concerns the lines that are not held.
    expect(statusesOf((await fulfil(order, free, 'delivered')).body)).toEqual(['delivered', 'pending', 'delivered']);
  });

  it('makes the order paid if its remaining lines are already paid, and records order.paid', async () => {
    const { encounter, order } = await ordered({}, {});
    await pay(harness, partner, order.order_no, { amount: '300.00' });
    await revoke(encounter, encounter.gfe_data[1]);
    const status = { order_status: 'paid', paid_amt: '300.00', held_amt: '210.00', balance_amt: '0.00' };
    expect(await orderOf(order)).toMatchObject(status);
    const types = (await eventsAbout(harness, partner, { order_no: order.order_no })).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(['gfe.revoked', 'order.held', 'order.paid']);
    const { body } = await call(harness, 'POST /encounters/status', {
      token: partner.token,
      json: { order_no: order.order_no },
    });
    expect(body.order_details).toMatchObject({ order_status: 'paid', grand_total: 510, balance_amt: 0 });
    expect((await refund(order, '45.00')).body).toMatchObject({ ...status, paid_amt: '255.00', refunded_amt: '45.00' });
    await revoke(encounter, encounter.gfe_data[0]);
    expect((await refund(order, '255.00')).body).toMatchObject({ order_status: 'refunded', refunded_amt: '300.00' });
  });

  it('leaves a balance of zero when every line is held: payments are refused, refunds and cancellation succeed', async () => {
    const { encounter, order } = await ordered({}, {});
    await pay(harness, partner, order.order_no, { amount: '100.00' });
    await revoke(encounter, ...encounter.gfe_data);
    expect(await orderOf(order)).toMatchObject({ order_status: 'pending', held_amt: '410.00', balance_amt: '0.00' });
    const faults = [{ pointer: '#/lines/0' }, { pointer: '#/lines/1' }];
    expectProblem(await pay(harness, partner, order.order_no, { amount: '1.00' }), 409, 'approval_ended', faults);
    expectProblem(await post(`/orders/${order.order_no}/cancel`, { reason: 'x' }), 409, 'invalid_state');
    expect((await refund(order, '100.00')).body).toMatchObject({ order_status: 'pending', held_amt: '510.00' });
    const { body } = await post(`/orders/${order.order_no}/cancel`, { reason: 'x' });
    expect(body).toMatchObject({ order_status: 'cancelled', balance_amt: '0.00' });
  });
});

describe('a later denial', () => {
  it('holds the accepted line of an approval at another clinic, even if that approval has expired', async () => {
    const { encounter, order } = await ordered(await monthly());
    await pay(harness, partner, order.order_no, { amount: '255.00' });
    await fulfil(order, order.lines[0], 'accepted');
    await wait(2 * MONTH);
    expect(holdsOf(await orderOf(order))).toEqual([null]);
    const { patientId } = encounter;
    const clinicId = await newClinic(harness, partner);
    const again = { patientId, clinicId, treatmentIds: [order.lines[0].treatmentId] };
    const later = await call(harness, 'POST /encounters', {
      token: partner.token,
      json: { ...(await encounterBody(harness, partner)), ...again },
    });
    await reviewed(harness, partner, later.body, deny);
    expect(holdsOf(await orderOf(order))).toEqual(['superseded']);
    expectProblem(await fulfil(order, order.lines[0], 'shipped'), 409, 'approval_ended');
    expect(await heldEvents(order)).toMatchObject([{ reason: 'superseded' }]);
  });
});

describe('the end of an approval by time', () => {
  it('holds prescriptions that no pharmacy has accepted, at once, and a sweep records one event for it', async () => {
    const { order } = await ordered(await monthly(), await monthly(), {});
    const [first, second] = order.lines;
    await pay(harness, partner, order.order_no, { amount: '765.00' });
    await fulfil(order, first, 'accepted', { treatmentIds: [first.treatmentId] });
    await fulfil(order, second, 'exception', { treatmentIds: [second.treatmentId] });
    const validUntil = new Date('2026-12-20T00:00:00.000Z').getTime();
    expect(holdsOf(await orderOf(order))).toEqual([null, null, null]);
    await wait(MONTH);
    const { lines } = await orderOf(order);
    expect(holdsOf({ lines })).toEqual([null, 'expired', null]);
    expect(Date.parse(lines[1].hold.at) > validUntil).toBe(true);
    expect(await heldOrders()).toContain(order.order_no);
    expect(await heldOrders('held=false')).not.toContain(order.order_no);
    const accept = await fulfil(order, second, 'accepted', { treatmentIds: [second.treatmentId] });
    expectProblem(accept, 409, 'approval_ended', [{ pointer: '#/lines/1' }]);
    expect(await heldEvents(order)).toEqual([]);
    expect([await sweep(), await sweep()]).toEqual([1, 0]);
    expect(await heldEvents(order)).toMatchObject([{ reason: 'expired', treatmentIds: [second.treatmentId] }]);
    expect((await orderOf(order)).lines).toEqual(lines);
    expect(statusesOf((await fulfil(order, first, 'shipped', { treatmentIds: [first.treatmentId] })).body)[0]).toBe(
      'shipped',
    );
  });

  it('lowers the balance in getOrder and getEncounterStatus before a sweep has run', async () => {
    const { order } = await ordered(await monthly(), {});
    await wait(MONTH);
    const due = { order_status: 'pending', held_amt: '255.00', balance_amt: '255.00' };
    expect(await orderOf(order)).toMatchObject(due);
    const options = { token: partner.token, json: { order_no: order.order_no } };
    const { body } = await call(harness, 'POST /encounters/status', options);
    expect(body.order_details).toMatchObject({ order_status: 'pending', balance_amt: 255 });
    expectProblem(await pay(harness, partner, order.order_no, { amount: '255.01' }), 409, 'payment_exceeds_balance');
    const paid = await pay(harness, partner, order.order_no, { amount: '255.00' });
    expect(paid.body).toMatchObject({ order_status: 'paid', held_amt: '255.00' });
    expect(await heldEvents(order)).toHaveLength(1);
  });

  it('does not hold the lines of cancelled orders', async () => {
    const { order } = await ordered(await monthly());
    await post(`/orders/${order.order_no}/cancel`, { reason: 'x' });
    await wait(MONTH);
    expect(holdsOf(await orderOf(order))).toEqual([null]);
    expect(await sweep()).toBe(0);
  });
});

it('a client that is limited to a pharmacy sees only the holds of its own lines', async () => {
  const pharmacies = [harness.domain.newId(), harness.domain.newId()];
  const [own = '', other = ''] = pharmacies;
  const { encounter, order } = await ordered({ pharmacyId: other }, { pharmacyId: own });
  const wanted = { tenant: partner.tenantId, preset: 'pharmacy', pharmacies: [own] } as const;
  const limited = { token: await newToken(harness, await createApiClient(harness.domain, wanted)) };
  const refusal = async (): Promise<Answer> => {
    const json = { pharmacyId: own, status: 'accepted' };
    return call(harness, `POST /orders/${order.order_no}/fulfilments`, { token: limited.token, json });
  };
  await revoke(encounter, encounter.gfe_data[0]);
  expect([await heldOrders('held=true', limited), await heldOrders('held=false', limited)]).toEqual([
    [],
    [order.order_no],
  ]);
  await revoke(encounter, encounter.gfe_data[1]);
  expect([await heldOrders('held=true', limited), await heldOrders('held=false', limited)]).toEqual([
    [order.order_no],
    [],
  ]);
  expectProblem(await refusal(), 409, 'approval_ended', [{ pointer: '#/lines/0' }]);
});
