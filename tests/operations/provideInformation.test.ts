import { newDocument, newEncounter, newPatient, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { askedEncounter, eventsOf, recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/information`, { token, json });
const details = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  (await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body;
const DAY = 24 * 3600;

describe('provideInformation 200', () => {
  it('adds a dated entry and appends documents, and returns the encounter to its place in the queue', async () => {
    const patientId = await newPatient(harness, partner);
    const upload = () => newDocument(harness, partner, patientId);
    const [first, second, third] = [await upload(), await upload(), await upload()];
    const asked = await askedEncounter(harness, partner, { patientId, documentIds: [first] });
    harness.clock.advance(60);
    const later = await newEncounter(harness, partner);
    const json = { additionalNotes: '0.5 mg.', documentIds: [third, first, second] };
    const { status, body } = await send(asked.encounter_id, json);
    expect(status).toBe(200);
    const now = harness.clock.now;
    const times = { expiresAt: new Date(now.getTime() + 30 * DAY * 1000).toISOString(), updatedAt: now.toISOString() };
    const documentIds = [first, third, second];
    expect(body).toEqual({ ...asked, ...times, status: 'pending_review', documentIds, version: 4 });
    const stored = await details(asked);
    expect(recordOf(stored)).toEqual(body);
    expect(stored.information).toMatchObject([{ providedAt: now.toISOString(), additionalNotes: '0.5 mg.' }]);
    const queue = await call(harness, 'GET /review-queue?serviceQueue=provider_network', { token: partner.token });
    const waiting = queue.body.data.map(({ encounter_id }: { encounter_id: number }) => encounter_id);
    expect(waiting).toEqual([asked.encounter_id, later.encounter_id]);
    const { encounter_id, gfe_no } = asked;
    const last = (await eventsOf(harness, asked)).at(-1);
    expect(last).toEqual(['encounter.information_provided', { encounter_id, gfe_no }]);
  });
});

describe('provideInformation 400', () => {
  it.each([
    ['an empty object', {}, '#', 'minProperties'],
    ['an empty list of documents', { documentIds: [] }, '#', 'minProperties'],
    ['blank notes', { additionalNotes: ' ' }, '#/additionalNotes', 'pattern'],
  ])('refuses %s, and leaves the encounter unchanged', async (_what, json, pointer, code) => {
    const asked = await askedEncounter(harness, partner);
    expectProblem(await send(asked.encounter_id, json), 400, 'validation_failed', [{ pointer, code }]);
    expect(recordOf(await details(asked))).toEqual(asked);
  });
});
