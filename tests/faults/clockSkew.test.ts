import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { verifyAudit } from '../../src/domain/audit/verify.js';
import { feedPage } from '../support/events.js';
import { encounterBody, newPartner, newToken, patientBody, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { reviewBody, reviewer } from '../support/reviews.js';

/** Between two servers of one deployment: far more than machines with a time service have. */
const SKEW_SECONDS = 600;

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

/** From now on requests meet a server whose clock is ahead of the one before, or behind it. */
const meetAnother = (isAhead: boolean): void => harness.clock.advance(isAhead ? SKEW_SECONDS : -SKEW_SECONDS);

/** The life of an encounter, each step at another server than the one before, with a token of that one. */
async function live(isAheadFirst: boolean): Promise<void> {
  let isAhead = isAheadFirst;
  const send = async (target: string, json: object): Promise<Answer['body']> => {
    const headers = { 'Idempotency-Key': harness.domain.newId() };
    const request = { token: await newToken(harness, partner), json, headers };
    meetAnother(isAhead);
    isAhead = !isAhead;
    const { status, text, body } = await call(harness, target, request);
    expect([status < 300, target, text]).toEqual([true, target, text]);
    // What one server acknowledged is known to the other.
    meetAnother(isAhead);
    const again = await call(harness, target, request);
    expect([again.status, again.body]).toEqual([status, body]);
    meetAnother(!isAhead);
    return body;
  };
  const patient = await send('POST /clients', patientBody());
  const wanted = { ...(await encounterBody(harness, partner)), patientId: patient.user_id };
  const { encounter_id } = await send('POST /encounters', wanted);
  const at = `POST /encounters/${encounter_id}`;
  await send(`${at}/claim`, { reviewerRef: reviewer });
  await send(`${at}/request-information`, { reviewerRef: reviewer, message: 'Which dose?' });
  await send(`${at}/information`, { additionalNotes: 'None.' });
  const claimed = await send(`${at}/claim`, { reviewerRef: reviewer });
  const { order_no } = await send(`${at}/review`, reviewBody(claimed));
  await send(`${at}/addenda`, { reviewerRef: reviewer, text: 'Called the patient.' });
  const { payments } = await send(`POST /orders/${order_no}/payments`, { amount: '1.00' });
  const refund = { payment_id: payments[0].id, amount: '1.00', reason: 'Goodwill.' };
  await send(`POST /orders/${order_no}/refunds`, refund);
}

it('servers whose clocks differ by ten minutes refuse nothing that one would take, and lose nothing', async () => {
  await live(true);
  await live(false);

  const { data, has_more } = await feedPage(harness, partner, { limit: 100 });
  expect(has_more).toBe(false);
  const types = data.map(({ type }) => type);
  const ofOne = types.slice(0, types.length / 2);
  expect(types).toEqual([...ofOne, ...ofOne]);
  expect(ofOne).toContain('order.refunded');
  await addCheckpoints(harness.domain);
  expect(await verifyAudit(harness.domain)).toMatchObject({ fault: null });
});
