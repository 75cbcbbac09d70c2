import { encounterBody, newEncounter, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { getOrder, pay } from '../../support/orders.js';
import { expectProblem } from '../../support/refusals.js';
import { cancelled, completedEncounter, eventsOf, reviewer } from '../../support/reviews.js';

// The partner's own id and data of an encounter.

const harness = await openHarness();
const partner = await newPartner(harness);
const { token } = partner;
const own = { reference: 'APPT-20417', metadata: { appointment: { type: 'first visit', room: 4 } } };

/** The data of all events of an encounter that is approved, paid in part and revoked, and of one that is cancelled. */
async function eventsOfLives(changes: object): Promise<[string, Answer['body']][]> {
  const completed = await completedEncounter(harness, partner, changes);
  const { encounter_id, order_no, gfe_data } = completed;
  await pay(harness, partner, order_no, { amount: '1.00' });
  const items = gfe_data.map(({ categoryId, subcategoryId }: Record<string, string>) => ({
    categoryId,
    subcategoryId,
  }));
  const json = { reviewerRef: reviewer, items, reason: 'Overlooked.' };
  expect((await call(harness, `POST /encounters/${encounter_id}/revoke`, { token, json })).status).toBe(200);
  const ended = await cancelled(harness, partner, await newEncounter(harness, partner, changes));
  return [...(await eventsOf(harness, completed)), ...(await eventsOf(harness, ended))];
}

const types = [
  ...['encounter.created', 'encounter.review_started', 'encounter.completed', 'order.created', 'order.updated'],
  ...['gfe.revoked', 'order.held', 'order.paid', 'encounter.created', 'encounter.cancelled'],
];

it('every event of an encounter, its approvals and its order contains the reference, and none contains the metadata', async () => {
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

it('createEncounter stores reference and metadata as sent, and getEncounter returns them', async () => {
  const created = await newEncounter(harness, partner, own);
  expect(created).toMatchObject(own);
  const { body } = await call(harness, `GET /encounters/${created.encounter_id}`, { token });
  expect([body.reference, body.metadata]).toEqual([own.reference, own.metadata]);
});

it('getOrder and listOrders show the reference, and getEncounterStatus does not', async () => {
  const reference = 'APPT-7';
  const { encounter_id, order_no } = await completedEncounter(harness, partner, { ...own, reference });
  expect((await getOrder(harness, partner, order_no)).body).toMatchObject({ order_no, reference });
  expect((await call(harness, 'GET /orders?limit=1', { token })).body.data).toMatchObject([{ order_no, reference }]);
  const { body, text } = await call(harness, 'POST /encounters/status', { token, json: { encounter_id } });
  expect(body.encounter_id).toBe(encounter_id);
  expect(text).not.toContain(reference);
});

it.each([
  ['a reference of 101 characters', { reference: 'x'.repeat(101) }, '#/reference'],
  ['an empty reference', { reference: '' }, '#/reference'],
  ['a reference with U+0000', { reference: 'a\u0000' }, '#/reference'],
  ['metadata of more than 16 KiB', { metadata: { a: 'x'.repeat(16_384) } }, '#/metadata'],
  ['metadata of six levels', { metadata: { a: { b: { c: { d: { e: {} } } } } } }, '#/metadata'],
])('createEncounter and previewEncounter refuse %s', async (_what, changes, pointer) => {
  const json = { ...(await encounterBody(harness, partner)), ...changes };
  for (const target of ['POST /encounters', 'POST /encounters/preview']) {
    const answer = await call(harness, target, { token, json });
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.errors).toMatchObject([{ pointer }]);
  }
});
