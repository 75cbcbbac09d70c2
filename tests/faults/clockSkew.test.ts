import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { verifyAudit } from '../../src/domain/audit/verify.js';
import { feedPage } from '../support/events.js';
import { encounterBody, newPartner, newToken, patientBody, type Partner } from '../support/factories.js';
import { useHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { reviewBody, reviewer } from '../support/reviews.js';

/** Between two servers of one deployment; a time service keeps machines far closer. */
const SKEW_SECONDS = 600;

const harness = useHarness();
let partner: Partner;
beforeAll(async () => {
  partner = await newPartner(harness);
});

/** Sends the next requests to a server whose clock is ahead of, or behind, the previous one. */
const switchServer = (isAhead: boolean): void => harness.clock.advance(isAhead ? SKEW_SECONDS : -SKEW_SECONDS);

/** The life of an encounter: the two servers take turns, and each step uses a token of the previous server. */
async function live(isAheadFirst: boolean): Promise<void> {
  let isAhead = isAheadFirst;
  const send = async (target: string, json: object): Promise<Answer['body']> => {
    const headers = { 'Idempotency-Key': harness.domain.newId() };
    const request = { token: await newToken(harness, partner), json, headers };
    switchServer(isAhead);
    isAhead = !isAhead;
    const { status, text, body } = await call(harness, target, request);
    expect([status < 300, target, text]).toEqual([true, target, text]);
    // The other server replays the acknowledged response.
    switchServer(isAhead);
    const again = await call(harness, target, request);
    expect([again.status, again.body]).toEqual([status, body]);
    switchServer(!isAhead);
    return body;
  };
  const patient = await send('POST /clients', patientBody());
  const encounter = { ...(await encounterBody(harness, partner)), patientId: patient.user_id };
  const { encounter_id } = await send('POST /encounters', encounter);
  const at = `POST /encounters/${encounter_id}`;
  await send(`${at}/claim`, { reviewerRef: reviewer });
  await send(`${at}/request-information`, { reviewerRef: reviewer, message: 'Which dose?' });
  await send(`${at}/information`, { additionalNotes: 'None.' });
  const claimed = await send(`${at}/claim`, { reviewerRef: reviewer });
  const { order_no } = await send(`${at}/review`, await reviewBody(harness, partner, claimed));
  await send(`${at}/addenda`, { reviewerRef: reviewer, text: 'Called the patient.' });
  const { payments } = await send(`POST /orders/${order_no}/payments`, { amount: '1.00' });
  const refund = { payment_id: payments[0].id, amount: '1.00', reason: 'Goodwill.' };
  await send(`POST /orders/${order_no}/refunds`, refund);
}

it('two servers whose clocks differ by ten minutes accept the whole life of an encounter, with intact feed and audit', async () => {
  await live(true);
  await live(false);

  const { data, has_more } = await feedPage(harness, partner, { limit: 100 });
  expect(has_more).toBe(false);
  const types = data.map(({ type }) => type);
  const half = types.slice(0, types.length / 2);
  expect(types).toEqual([...half, ...half]);
  expect(half).toContain('order.refunded');
  await addCheckpoints(harness.domain);
  expect(await verifyAudit(harness.domain)).toMatchObject({ fault: null });
});
