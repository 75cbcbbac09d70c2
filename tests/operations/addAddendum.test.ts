import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
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
  it('adds an addendum without an event; getEncounter shows its time only, getChart its text, too', async () => {
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
