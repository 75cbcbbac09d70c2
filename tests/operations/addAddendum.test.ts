import { newEncounter, newPartner } from '../support/factories.js';
import { addAddenda } from '../support/fullRecords.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import {
  claimedEncounter,
  completedEncounter,
  deny,
  eventTypesOf,
  recordOf,
  reviewed,
  reviewer,
} from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const addendum = { reviewerRef: 'Dr B', text: 'Liver values seen.' };
const send = (encounterNo: unknown, json: unknown = addendum, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/addenda`, { token, json });
const details = async ({ encounter_id }: Answer['body']): Promise<Answer> =>
  call(harness, `GET /encounters/${encounter_id}`, { token: partner.token });

describe('addAddendum 200', () => {
  it('adds an addendum and leaves the review unchanged; partners see its time, providers its text', async () => {
    const denied = await reviewed(harness, partner, await newEncounter(harness, partner), deny);
    for (const encounter of [await completedEncounter(harness, partner), denied]) {
      const types = await eventTypesOf(harness, encounter);
      harness.clock.advance(60);
      const { status, body } = await send(encounter.encounter_id);
      expect(status).toBe(200);
      const addedAt = harness.clock.now.toISOString();
      expect(body).toEqual({ ...encounter, updatedAt: addedAt, version: Number(encounter.version) + 1 });
      const read = await details(encounter);
      expect(recordOf(read.body)).toEqual(body);
      expect(read.body.addenda).toEqual([{ addedAt }]);
      expect(read.text).not.toContain('Liver');
      expect(await eventTypesOf(harness, encounter)).toEqual(types);
      const { patientId } = encounter;
      const { encounter_id } = await claimedEncounter(harness, partner, { patientId });
      const target = `GET /encounters/${encounter_id}/chart?reviewerRef=${reviewer}`;
      const { body: chart } = await call(harness, target, { token: partner.token });
      expect(chart.earlierReviews).toMatchObject([{ addenda: [{ ...addendum, addedAt }] }]);
    }
  });
});

describe('addAddendum 409', () => {
  it('limits an encounter to 100 addenda, also when requests race', async () => {
    const { encounter_id } = await completedEncounter(harness, partner);
    await addAddenda(harness, partner, encounter_id, 98);
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(encounter_id)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(3);
    for (const answer of refused) expectProblem(answer, 409, 'too_many_records');
    expect(refused[0]?.body.detail).toContain('100 addenda');
    expect((await details({ encounter_id })).body.addenda).toHaveLength(100);
  });
});
