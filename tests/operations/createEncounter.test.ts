import { encounterBody, newCategory, newDocument, newPartner, newPatient, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
/** A valid body; the time zone of its clinic is America/Chicago. */
const valid = await encounterBody(harness, partner);

const create = (json: unknown, { token } = partner) => call(harness, 'POST /encounters', { token, json });

describe('createEncounter 201', () => {
  it('returns the stored record and its Location', async () => {
    const { status, headers, body } = await create(valid);
    const now = harness.clock.now.toISOString();
    const expiresAt = new Date(harness.clock.now.getTime() + 30 * 24 * 3_600_000).toISOString();
    expect([status, headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    // The examples of the contract have every other property (tests/contract/examples).
    const gfe_no = `GFE-${body.encounter_id}`;
    expect(body).toMatchObject({ ...valid, gfe_no, version: 1, expiresAt, createdAt: now, updatedAt: now });
    expect(body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(headers.get('Location')).toBe(`/encounters/${body.encounter_id}`);
    const read = await call(harness, `GET ${headers.get('Location')}`, { token: partner.token });
    expect(recordOf(read.body)).toEqual(body);
  });

  it('stores lists in their order, notes, and a schedule with its time zone, as sent', async () => {
    const patientId = await newPatient(harness, partner);
    const treatmentIds = await Promise.all([1, 2, 3].map(() => newProduct(harness, partner)));
    const documentIds = await Promise.all([1, 2, 3].map(() => newDocument(harness, partner, patientId)));
    const sent = {
      ...valid,
      patientId,
      treatmentIds: treatmentIds.toReversed(),
      documentIds: documentIds.toReversed(),
      reviewType: 'synchronous',
      additionalNotes: 'BP 120/80 – “stable” 血圧 👩‍⚕️\n<b>',
      scheduledDay: '2027-06-30',
      scheduledTime: '09:30:00',
      scheduledTimeZone: 'US/Pacific',
    };
    const { body } = await create(sent);
    expect(body).toMatchObject({ ...sent, scheduledAt: '2027-06-30T16:30:00.000Z' });
    const read = await call(harness, `GET /encounters/${body.encounter_id}`, { token: partner.token });
    expect(read.body).toEqual({ ...body, visitUrl: null, information: [], addenda: [] });
  });

  it('accepts the longest lists and notes that the contract allows', async () => {
    const patientId = await newPatient(harness, partner);
    const group = await newCategory(harness, partner);
    const treatmentIds = await Promise.all(Array.from({ length: 20 }, () => newProduct(harness, partner, group)));
    const documentIds = await Promise.all(Array.from({ length: 20 }, () => newDocument(harness, partner, patientId)));
    const sent = { ...valid, patientId, treatmentIds, documentIds, additionalNotes: 'é'.repeat(10_000) };
    expect((await create(sent)).body).toMatchObject(sent);
  });

  it('accepts UUIDs in upper case and returns them in lower case (R-13)', async () => {
    const documentIds = [await newDocument(harness, partner, valid.patientId)];
    const lower = { ...valid, documentIds };
    const upper = JSON.parse(JSON.stringify(lower), (key, value) =>
      typeof value === 'string' && !/Type|Queue/.test(key) ? value.toUpperCase() : value,
    );
    expect(upper).not.toEqual(lower);
    const { body } = await create(upper);
    expect(body).toMatchObject(lower);
    expect(body.gfe_data).toMatchObject([{ treatmentIds: valid.treatmentIds }]);
  });
});
