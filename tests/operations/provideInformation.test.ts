import { newDocument, newEncounter, newPatient, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { askedEncounter, expectAction, recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const details = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  (await call(harness, `GET /encounters/${encounter_id}`, partner)).body;
const DAY = 24 * 3_600_000;

describe('provideInformation 200', () => {
  it('adds a dated entry and appends documents, and returns the encounter to its place in the queue', async () => {
    const patientId = await newPatient(harness, partner);
    const upload = () => newDocument(harness, partner, patientId);
    const [first, second, third] = [await upload(), await upload(), await upload()];
    const asked = await askedEncounter(harness, partner, { patientId, documentIds: [first] });
    harness.clock.advance(60);
    const later = await newEncounter(harness, partner);
    const json = { additionalNotes: '0.5 mg.', documentIds: [third, first, second] };
    const event = ['encounter.information_provided'] as const;
    await expectAction(harness, partner, asked, ['information', json], event, (now) => ({
      ...{ status: 'pending_review', documentIds: [first, third, second] },
      expiresAt: new Date(now.getTime() + 30 * DAY).toISOString(),
    }));
    const providedAt = harness.clock.now.toISOString();
    expect((await details(asked)).information).toMatchObject([{ providedAt, additionalNotes: '0.5 mg.' }]);
    const queue = await call(harness, 'GET /review-queue?serviceQueue=provider_network', { token: partner.token });
    const waiting = queue.body.data.map(({ encounter_id }: { encounter_id: number }) => encounter_id);
    expect(waiting).toEqual([asked.encounter_id, later.encounter_id]);
  });
});

describe('provideInformation 400', () => {
  it.each([
    ['an empty object', {}, '#', 'minProperties'],
    ['an empty list of documents', { documentIds: [] }, '#', 'minProperties'],
    ['blank notes', { additionalNotes: ' ' }, '#/additionalNotes', 'pattern'],
  ])('refuses %s, and leaves the encounter unchanged', async (_what, json, pointer, code) => {
    const asked = await askedEncounter(harness, partner);
    const target = `POST /encounters/${asked.encounter_id}/information`;
    const answer = await call(harness, target, { token: partner.token, json });
    expectProblem(answer, 400, 'validation_failed', [{ pointer, code }]);
    expect(recordOf(await details(asked))).toEqual(asked);
  });
});
