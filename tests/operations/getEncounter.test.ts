import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type CallOptions } from '../support/http.js';
import { claim, completedEncounter, reviewed } from '../support/reviews.js';
import { atTime } from '../support/tokens.js';

const harness = await openHarness();
const partner = await newPartner(harness);

/** The details of an encounter without visit, information and addenda. */
const details = { visitUrl: null, information: [], addenda: [] };

const get = (encounterNo: unknown, options: CallOptions = { token: partner.token }) =>
  call(harness, `GET /encounters/${String(encounterNo)}`, options);

describe('getEncounter 200', () => {
  it('accepts a GFE number, as cancelEncounter does', async () => {
    const { id, gfe_no } = await newEncounter(harness, partner);
    const cancel = { token: partner.token, json: { reason: 'other' } };
    const { body } = await call(harness, `POST /encounters/${gfe_no.toLowerCase()}/cancel`, cancel);
    expect(body).toMatchObject({ id, status: 'cancelled' });
    expect((await get(gfe_no)).body).toMatchObject({ id, status: 'cancelled' });
  });

  it('shows an approval as expired once validUntil is reached, and the encounter as completed', async () => {
    const encounter = await completedEncounter(harness, partner);
    const [item] = encounter.gfe_data;
    const { body } = await atTime(harness, partner, item.validUntil, ({ token }) => {
      return get(encounter.encounter_id, { token });
    });
    expect(body).toEqual({ ...encounter, ...details, gfe_data: [{ ...item, status: 'expired' }] });
  });

  it('shows visitUrl until the review ends; neither listEncounters nor the claim response nor the log contains it', async () => {
    const visitUrl = 'https://visits.example.com/abc?d=e';
    const encounter = await newEncounter(harness, partner, { reviewType: 'synchronous' });
    const { encounter_id } = encounter;
    const ofClaim = await claim(harness, partner, encounter, { visitUrl });
    const renewed = await claim(harness, partner, encounter);
    const { text: list } = await call(harness, 'GET /encounters', { token: partner.token });
    for (const text of [JSON.stringify([ofClaim, renewed]), list, JSON.stringify(harness.logged)]) {
      expect(text).not.toContain('visits.example.com');
    }
    expect((await get(encounter_id)).body).toEqual({ ...renewed, ...details, visitUrl });
    await reviewed(harness, partner, encounter);
    expect((await get(encounter_id)).body.visitUrl).toBeNull();
  });
});

describe('getEncounter 304', () => {
  it('answers 304 if If-None-Match is the current ETag, until an approval of the encounter expires', async () => {
    const { encounter_id, gfe_data } = await completedEncounter(harness, partner);
    const tag = (await get(encounter_id)).headers.get('ETag') ?? '';
    const ask = ({ token } = partner) => get(encounter_id, { token, headers: { 'If-None-Match': tag } });
    expect((await ask()).status).toBe(304);
    expect((await atTime(harness, partner, gfe_data[0].validUntil, ask)).status).toBe(200);
  });
});

it('getEncounter 400 says how to identify an encounter', async () => {
  const { body } = await get('ORD-100123');
  const detail = 'must be the number of an encounter or its gfe_no, for example 100123 or GFE-100123';
  expect(body.errors).toEqual([{ parameter: 'encounter_id', code: 'pattern', detail }]);
});
