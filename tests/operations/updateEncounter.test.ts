import {
  newCategory,
  newClinic,
  newDocument,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
} from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { getOrder } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import {
  askedEncounter,
  cancelled,
  claim,
  claimedEncounter,
  completedEncounter,
  deny,
  eventsOf,
  recordOf,
  reviewed,
} from '../support/reviews.js';

type Encounter = Answer['body'];

const harness = await openHarness();
const partner = await newPartner(harness);
const { prisma } = harness.domain.db;

const patch = ({ encounter_id }: Encounter, json: unknown, options: CallOptions = {}): Promise<Answer> =>
  call(harness, `PATCH /encounters/${encounter_id}`, { token: partner.token, json, ...options });
const get = ({ encounter_id }: Encounter, { token } = partner): Promise<Answer> =>
  call(harness, `GET /encounters/${encounter_id}`, { token });
const stored = async (encounter: Encounter): Promise<Encounter> => recordOf((await get(encounter)).body);
const updates = async (encounter: Encounter): Promise<unknown[]> =>
  (await eventsOf(harness, encounter)).flatMap(([type, data]) => (type === 'encounter.updated' ? [data] : []));
const set = ({ id }: Encounter, data: object): Promise<unknown> =>
  prisma.encounter.updateMany({ where: { tenantId: partner.tenantId, id }, data });
const overdue = async (): Promise<Encounter> => {
  const encounter = await newEncounter(harness, partner);
  const expiresAt = new Date(harness.clock.now.getTime() - 1);
  await set(encounter, { expiresAt });
  return { ...encounter, expiresAt: expiresAt.toISOString() };
};

/** An encounter in each status, and one that has expired although no sweep has run. */
const makers: Readonly<Record<string, () => Promise<Encounter>>> = {
  pending_review: () => newEncounter(harness, partner),
  in_review: () => claimedEncounter(harness, partner),
  awaiting_information: () => askedEncounter(harness, partner),
  completed: () => completedEncounter(harness, partner),
  denied: async () => reviewed(harness, partner, await newEncounter(harness, partner), deny),
  cancelled: async () => cancelled(harness, partner, await newEncounter(harness, partner)),
  expired: overdue,
};

describe('updateEncounter 200', () => {
  it.each(Object.entries(makers))('changes reference and metadata while %s', async (state, make) => {
    const encounter = await make();
    const { encounter_id, gfe_no } = encounter;
    const version: number = encounter.version;
    const sent = { reference: 'APPT-1', metadata: { room: '4', kind: 'first' } };
    const { status, body, headers } = await patch(encounter, sent);
    expect(status).toBe(200);
    // The deadline that has passed applies first, and counts as a change of its own.
    const isLate = state === 'expired';
    const gfe_data = isLate ? [{ ...encounter.gfe_data[0], status: 'expired' }] : encounter.gfe_data;
    const present = version + (isLate ? 2 : 1);
    const changes = { status: isLate ? 'expired' : encounter.status, gfe_data, version: present };
    expect(body).toEqual({ ...encounter, ...sent, ...changes, updatedAt: expect.any(String) });
    expect(await stored(encounter)).toEqual(body);
    expect(headers.get('ETag')).toBe((await get(encounter)).headers.get('ETag'));
    const merged = await patch(encounter, { reference: null, metadata: { room: null } });
    expect(merged.body).toMatchObject({
      reference: null,
      metadata: { kind: 'first' },
      version: present + 1,
    });
    expect((await patch(encounter, { metadata: null })).body.metadata).toBeNull();
    const named = { encounter_id, gfe_no };
    expect(await updates(encounter)).toEqual([
      { ...named, reference: 'APPT-1', changed: ['reference', 'metadata'] },
      { ...named, changed: ['reference', 'metadata'] },
      { ...named, changed: ['metadata'] },
    ]);
  });

  it('keeps the version and records no event when the values are unchanged', async () => {
    const encounter = await newEncounter(harness, partner, { reference: 'A', metadata: { a: 1 } });
    const { treatmentIds, reviewType } = encounter;
    const json = { reference: 'A', metadata: { a: 1 }, treatmentIds: [treatmentIds[0].toUpperCase()], reviewType };
    expect((await patch(encounter, json)).body).toEqual(encounter);
    expect([await stored(encounter), await updates(encounter)]).toEqual([encounter, []]);
  });

  it('recalculates items, estimate and prescription for changed treatments, and keeps the place in the queue', async () => {
    const group = await newCategory(harness, partner);
    const [kept, added, rx] = [
      await newProduct(harness, partner, { price: '10.00', shippingType: 'FREE_SHIPPING', shippingAmount: '0.00' }),
      await newProduct(harness, partner, { ...group, price: '7.00', shippingAmount: '2.00' }),
      await newProduct(harness, partner, { ...group, isRx: true, price: '1.00', shippingAmount: '0.50' }),
    ];
    const document = { patientId: await newPatient(harness, partner) };
    const documentIds = [await newDocument(harness, partner, document.patientId)];
    const created = { ...document, documentIds, treatmentIds: [kept], additionalNotes: 'x' };
    const encounter = await newEncounter(harness, partner, created);
    const offer = { where: { tenantId: partner.tenantId, productId: kept }, data: { price: '11.00' } };
    await prisma.productOffer.updateMany(offer);
    harness.clock.advance(60);
    const treatmentIds = [added, kept, rx];
    const { status, body } = await patch(encounter, { treatmentIds, reference: 'B' });
    expect(status).toBe(200);
    const [item] = encounter.gfe_data;
    const ofGroup = { ...group, treatmentIds: [added, rx], status: 'pending_review' };
    const { gfe_data, ...rest } = body;
    expect(gfe_data).toEqual([expect.objectContaining(ofGroup), item]);
    expect({ ...rest, gfe_data: [item] }).toEqual({
      ...{ ...encounter, treatmentIds, reference: 'B', version: 2, updatedAt: harness.clock.now.toISOString() },
      estimate: { sub_total: 19, total_shipping_amt: 2.5, grand_total: 21.5, currency: 'USD' },
    });
    expect(await stored(encounter)).toEqual(body);
    expect((await updates(encounter)).at(-1)).toMatchObject({ reference: 'B', changed: ['treatmentIds', 'reference'] });
    const completed = await reviewed(harness, partner, encounter);
    const { lines, grand_total } = (await getOrder(harness, partner, completed.order_no)).body;
    expect([lines.map(({ treatmentId }: Encounter) => treatmentId), grand_total]).toEqual([treatmentIds, '21.50']);
  });

  it('applies the scheduled time to claims when the type of review changes', async () => {
    const visit = { scheduledDay: '2027-01-05', scheduledTime: '12:00:00', scheduledTimeZone: 'America/Chicago' };
    const encounter = await newEncounter(harness, partner, { reviewType: 'asynchronous', ...visit });
    const json = { reviewerRef: 'NPI-1' };
    const claims = () =>
      call(harness, `POST /encounters/${encounter.encounter_id}/claim`, { token: partner.token, json });
    expect((await patch(encounter, { reviewType: 'synchronous' })).body.reviewType).toBe('synchronous');
    expectProblem(await claims(), 409, 'not_due');
    expect((await patch(encounter, { reviewType: 'asynchronous' })).status).toBe(200);
    expect((await claims()).status).toBe(200);
  });

  it('keeps the scheduled time if the time zone of the clinic has changed', async () => {
    const visit = { scheduledDay: '2027-01-05', scheduledTime: '12:00:00', reviewType: 'synchronous' };
    const encounter = await newEncounter(harness, partner, visit);
    const where = { tenantId: partner.tenantId, clinicId: encounter.clinicId };
    await prisma.clinicLocation.updateMany({ where, data: { timezone: null } });
    const { status } = await patch(encounter, { treatmentIds: [await newProduct(harness, partner)] });
    const { claimableFrom } = await prisma.encounter.findFirstOrThrow({
      where: { tenantId: partner.tenantId, id: encounter.id },
    });
    expect([status, claimableFrom.toISOString()]).toEqual([200, '2027-01-05T17:45:00.000Z']);
  });

  it('sets the review state from the current patient', async () => {
    const encounter = await newEncounter(harness, partner, { reviewType: 'asynchronous' });
    const state = await prisma.refState.findFirstOrThrow({ where: { code: 'AZ' } });
    const json = { gfeStateId: state.id };
    await call(harness, `PATCH /clients/${encounter.patientId}`, { token: partner.token, json });
    expect((await patch(encounter, { reference: 'C' })).body.reviewState).toBe(encounter.reviewState);
    expect((await patch(encounter, { reviewType: 'synchronous' })).body.reviewState).toBe('AZ');
  });

  it('changes treatments after a claim has lapsed, and records the lapse', async () => {
    const claimed = await claimedEncounter(harness, partner, {}, { leaseSeconds: 60 });
    harness.clock.advance(61);
    const treatmentIds = [await newProduct(harness, partner)];
    const { body } = await patch(claimed, { treatmentIds });
    expect(body).toMatchObject({ status: 'pending_review', treatmentIds, reviewerRef: null, version: 4 });
    const types = (await eventsOf(harness, claimed)).map(([type]) => type);
    expect(types.slice(-2)).toEqual(['encounter.released', 'encounter.updated']);
  });

  it('keeps a document that was withdrawn after the creation', async () => {
    const patientId = await newPatient(harness, partner);
    const documentIds = [await newDocument(harness, partner, patientId)];
    const encounter = await newEncounter(harness, partner, { patientId, documentIds });
    const json = { reason: 'illegible' };
    await call(harness, `POST /documents/${documentIds[0]}/withdraw`, { token: partner.token, json });
    const treatmentIds = [await newProduct(harness, partner)];
    expect((await patch(encounter, { treatmentIds })).body).toMatchObject({ treatmentIds, documentIds });
  });
});

describe('updateEncounter 400', () => {
  const id = '01a05c32-5e80-7000-8000-00000000abcd';
  it.each([
    ['an empty body', {}, '#'],
    ['a field that is not its own', { additionalNotes: 'x' }, '#/additionalNotes'],
    ['treatments that are null', { treatmentIds: null }, '#/treatmentIds'],
    ['no treatments', { treatmentIds: [] }, '#/treatmentIds'],
    ['an id twice', { treatmentIds: [id, id.toUpperCase()] }, '#/treatmentIds/1'],
    ['metadata of six levels', { metadata: { a: { b: { c: { d: { e: {} } } } } } }, '#/metadata'],
  ])('refuses %s, and leaves the encounter unchanged', async (_what, json, pointer) => {
    const encounter = await newEncounter(harness, partner);
    expectProblem(await patch(encounter, json), 400, 'validation_failed', [{ pointer }]);
    expect([await stored(encounter), await updates(encounter)]).toEqual([encounter, []]);
  });
});

describe('updateEncounter 404', () => {
  it("answers encounter_not_found for an unknown encounter and for another tenant's", async () => {
    const foreign = await newEncounter(harness, await newPartner(harness));
    for (const encounter of [foreign, { encounter_id: 999_999_999 }])
      expectProblem(await patch(encounter, { reference: 'x' }), 404, 'encounter_not_found');
  });

  it('answers treatment_not_found for an unknown treatment', async () => {
    const encounter = await newEncounter(harness, partner);
    const treatmentIds = [encounter.treatmentIds[0], '01a05c32-5e80-7000-8000-00000000abcd'];
    const fault = [{ pointer: '#/treatmentIds/1' }];
    expectProblem(await patch(encounter, { treatmentIds }), 404, 'treatment_not_found', fault);
    expect(await stored(encounter)).toEqual(encounter);
  });
});

describe('updateEncounter 409', () => {
  const { pending_review: _open, ...others } = makers;
  it.each(Object.entries(others))('refuses treatments and type of review while %s', async (status, make) => {
    const encounter = await make();
    const treatmentIds = [await newProduct(harness, partner)];
    for (const json of [{ treatmentIds, reference: 'x' }, { reviewType: encounter.reviewType }]) {
      const answer = await patch(encounter, json);
      expectInvalidState(answer, status);
      expect(answer.body.detail).toContain('other treatments or another type of review');
    }
    expect(await stored(encounter)).toEqual(encounter);
  });

  type Change = (encounter: Encounter) => Promise<object>;
  const ofProduct =
    (changes: object): Change =>
    async () => ({ treatmentIds: [await newProduct(harness, partner, changes)] });
  const elsewhere: Change = async () =>
    ofProduct({ availability: [{ clinicId: await newClinic(harness, partner), isActive: true }] })({});
  const ofPatient =
    (data: object): Change =>
    async ({ patientId: id }) => {
      await prisma.patient.updateMany({ where: { tenantId: partner.tenantId, id }, data });
      return { reviewType: 'synchronous' };
    };
  const cases: readonly [string, Change][] = [
    ['treatment_inactive', ofProduct({ isActive: false })],
    ['treatment_unavailable_at_clinic', elsewhere],
    ['treatment_not_permitted', ofProduct({ minAge: 99 })],
    ['treatment_not_permitted', ofProduct({ synchronousOnly: true })],
    ['patient_inactive', ofPatient({ accountIsActive: false })],
    ['guardian_required', ofPatient({ dateOfBirth: new Date('2015-01-01') })],
    [
      'clinic_inactive',
      async ({ clinicId: id }) => {
        await prisma.clinic.updateMany({ where: { tenantId: partner.tenantId, id }, data: { isActive: false } });
        return { reviewType: 'synchronous' };
      },
    ],
  ];
  it.each(cases)('answers %s like createEncounter, and leaves the encounter unchanged', async (code, change) => {
    const encounter = await newEncounter(harness, partner, { reviewType: 'asynchronous' });
    const answer = await patch(encounter, await change(encounter));
    expectProblem(answer, 409, code as 'treatment_inactive');
    expect([await stored(encounter), await updates(encounter)]).toEqual([encounter, []]);
  });
});

describe('updateEncounter 412', () => {
  it('refuses a version that is not the current one, before it validates the change', async () => {
    const encounter = await completedEncounter(harness, partner);
    for (const json of [{ reference: 'x' }, { reviewType: 'synchronous' }])
      expectProblem(await patch(encounter, json, { headers: { 'If-Match': '"1"' } }), 412, 'version_conflict');
    expect(await stored(encounter)).toEqual(encounter);
  });

  it('accepts the version that was read, even if a deadline has passed since', async () => {
    const encounter = await overdue();
    const headers = { 'If-Match': `"${encounter.version}"` };
    const { status, body } = await patch(encounter, { reference: 'x' }, { headers });
    expect([status, body.status, body.reference]).toEqual([200, 'expired', 'x']);
  });

  it('replays the stored response of a repeated Idempotency-Key although its version is no longer current', async () => {
    const encounter = await newEncounter(harness, partner);
    const headers = { 'If-Match': '"1"', 'Idempotency-Key': `update ${encounter.encounter_id}` };
    const first = await patch(encounter, { reference: 'x' }, { headers });
    await claim(harness, partner, encounter);
    const replay = await patch(encounter, { reference: 'x' }, { headers });
    expect([replay.body, replay.headers.get('ETag')]).toEqual([first.body, first.headers.get('ETag')]);
    expectProblem(
      await patch(encounter, { reference: 'x' }, { headers: { 'If-Match': '"1"' } }),
      412,
      'version_conflict',
    );
  });
});
