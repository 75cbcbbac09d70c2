import { newEncounter, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { getOrder, pay } from '../../support/orders.js';
import { cancelled, completedEncounter, eventsOf, revoked } from '../../support/reviews.js';

// The partner's own id and data of an encounter.

const harness = await openHarness();
const partner = await newPartner(harness);
const { token } = partner;
const own = { reference: 'APPT-20417', metadata: { appointment: { type: 'first visit', room: 4 } } };

/** The data of all events of an encounter that is approved, paid in part and revoked, and of one that is cancelled. */
async function eventsOfLives(changes: object): Promise<[string, Answer['body']][]> {
  const completed = await completedEncounter(harness, partner, changes);
  await pay(harness, partner, completed.order_no, { amount: '1.00' });
  await revoked(harness, partner, completed);
  const ended = await cancelled(harness, partner, await newEncounter(harness, partner, changes));
  return [...(await eventsOf(harness, completed)), ...(await eventsOf(harness, ended))];
}

const types = [
  ...['encounter.created', 'encounter.review_started', 'encounter.completed', 'order.created', 'order.updated'],
  ...['gfe.revoked', 'order.held', 'order.paid', 'encounter.created', 'encounter.cancelled'],
];

it('every event of a completed and revoked encounter and of a cancelled one contains the reference, and none contains the metadata', async () => {
  const events = await eventsOfLives(own);
  expect(events.map(([type]) => type).sort()).toEqual([...types].sort());
  for (const [, data] of events) expect(data).toMatchObject({ reference: own.reference });
  expect(JSON.stringify(events)).not.toContain('first visit');
});

it('events of an encounter without a reference have no member "reference"', async () => {
  const events = await eventsOfLives({ reference: null, metadata: null });
  expect(events).toHaveLength(types.length);
  for (const [, data] of events) expect(data).not.toHaveProperty('reference');
});

it('getOrder and listOrders show the reference of the encounter, and getEncounterStatus does not', async () => {
  const reference = 'APPT-7';
  const { encounter_id, order_no } = await completedEncounter(harness, partner, { ...own, reference });
  expect((await getOrder(harness, partner, order_no)).body).toMatchObject({ order_no, reference });
  expect((await call(harness, 'GET /orders?limit=1', { token })).body.data).toMatchObject([{ order_no, reference }]);
  const { body, text } = await call(harness, 'POST /encounters/status', { token, json: { encounter_id } });
  expect(body.encounter_id).toBe(encounter_id);
  expect(text).not.toContain(reference);
});
