import { addAddenda, addRefunds } from '../../support/fullRecords.js';
import { encounterBody, newEncounter, newPartner, newPatient } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { claimedEncounter, completedEncounter, reviewer } from '../../support/reviews.js';

// A page ends at its limit or at 1 MiB, whichever comes first.

const MIB = 1024 ** 2;
const ENCOUNTERS = 30;

const harness = await openHarness();
const partner = await newPartner(harness);

const get = (target: string, { token } = partner): Promise<Answer> => call(harness, `GET ${target}`, { token });

/** The elements of all pages; expects that the first page ends early. */
async function allPages(path: string): Promise<Answer['body'][]> {
  const elements: Answer['body'][] = [];
  let cursor = '';
  do {
    const { text, body } = await get(`${path}?limit=100${cursor}`);
    if (cursor === '') expect(body.has_more).toBe(true);
    expect(Buffer.byteLength(text)).toBeLessThan(1.1 * MIB);
    elements.push(...body.data);
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
  } while (cursor !== '');
  return elements;
}

it('listEncounters and listReviewQueue end a page of long notes before 1.1 MiB, and the cursors of listEncounters lead to every encounter', async () => {
  const body = await encounterBody(harness, partner);
  // Four bytes per character.
  const changes = { ...body, additionalNotes: '\u{1F489}'.repeat(10_000) };
  for (let count = 0; count < ENCOUNTERS; count += 1) await newEncounter(harness, partner, changes);
  const numbers = (await allPages('/encounters')).map(({ encounter_id }) => encounter_id);
  expect(new Set(numbers).size).toBe(ENCOUNTERS);
  expect(numbers).toHaveLength(ENCOUNTERS);
  const queue = await get('/review-queue?limit=100');
  expect(Buffer.byteLength(queue.text)).toBeLessThan(1.1 * MIB);
  expect(queue.body.has_more).toBe(true);
  expect(queue.body.data.map(({ encounter_id }: Answer['body']) => encounter_id)).toEqual(
    numbers.reverse().slice(0, queue.body.data.length),
  );
});

it('listOrders ends a page of many refunds before 1.1 MiB, and its cursors lead to every order', async () => {
  const made = [];
  for (let count = 0; count < 4; count += 1) {
    const { order_no } = await completedEncounter(harness, partner);
    await addRefunds(harness, partner, order_no, 199, '\u{1F489}'.repeat(500));
    made.push(order_no);
  }
  const orders = await allPages('/orders');
  expect(orders.map(({ order_no }) => order_no)).toEqual(made.reverse());
});

it('getChart omits earlier reviews beyond 1 MiB and sets hasMore, but shows the latest even if it alone is longer', async () => {
  const patientId = await newPatient(harness, partner);
  const reviewed = [];
  for (let count = 0; count < 3; count += 1) reviewed.push(await completedEncounter(harness, partner, { patientId }));
  const { encounter_id } = await claimedEncounter(harness, partner, { patientId });
  const chart = async () => (await get(`/encounters/${encounter_id}/chart?reviewerRef=${reviewer}`)).body;
  const whole = await chart();
  expect([whole.earlierReviews.length, whole.hasMore]).toEqual([3, false]);
  const long = '\u{1F489}'.repeat(4_000);
  for (const earlier of reviewed) await addAddenda(harness, partner, earlier.encounter_id, 100, long);
  const latest = { encounter_id: reviewed.at(-1)?.encounter_id };
  expect(await chart()).toMatchObject({ earlierReviews: [latest], hasMore: true });
});
