import { recordVerification } from '../../src/domain/patients/verification.js';
import { inTransaction } from '../../src/domain/transactions/transaction.js';
import { contract } from '../support/contract.js';
import { newEncounter, newPartner, newPatient, patientBody } from '../support/factories.js';
import { eventsUpTo } from '../support/events.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';

const harness = await openHarness();
const partner = await newPartner(harness);
let id: string;
beforeEach(async () => {
  id = await newPatient(harness, partner);
});

const patch = (json: unknown, options: CallOptions = {}, user = id): Promise<Answer> =>
  call(harness, `PATCH /clients/${user}`, { token: partner.token, json, ...options });
const read = async (): Promise<Answer['body']> =>
  (await call(harness, `GET /clients/${id}`, { token: partner.token })).body;
const updates = async (): Promise<unknown[]> =>
  (await eventsUpTo(harness, partner, 'patient.created'))
    .filter(({ type, data }) => type === 'patient.updated' && data.user_id === id)
    .map(({ data }) => data.changed);
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });

describe('updatePatient 200', () => {
  it('changes only the properties that are sent, under the names of createPatient', async () => {
    const before = await read();
    const home = { address: '1 Main St', address2: 'B', postalCode: '78702', phone: '12345' };
    const person = { firstName: 'June', gender: 'other', dateOfBirth: '1991-02-03', notes: 'n', employer: 'e' };
    const sent = { ...home, ...person, stateId: '01A05C32-5E80-7000-8000-000000005048' };
    const { status, body } = await patch(sent);
    expect(status).toBe(200);
    const after = await read();
    expect(after).toMatchObject(body);
    expect(after).toEqual({
      ...before,
      ...{ firstName: 'June', sex: 'other', address1: '1 Main St', address2: 'B', postal: '78702', phone: '12345' },
      ...{ dateOfBirth: '1991-02-03T00:00:00.000Z', notes: 'n', employer: 'e', stateId: sent.stateId.toLowerCase() },
      state: expect.objectContaining({ code: 'TX', name: 'Texas' }),
      adminUser: { ...before.adminUser, name: `June ${before.lastName}`, phone: '12345' },
      updatedAt: expect.any(String),
    });
    expect(await updates()).toEqual([Object.keys(sent)]);
  });

  it('accepts every value as getPatient returns it, changes nothing and emits no event (D-295)', async () => {
    await patch({ gender: 'female', address: '1 Main St', postalCode: '78702', notes: 'n', metadata: { a: 1 } });
    const before = await read();
    const renamed = { gender: 'sex', address: 'address1', postalCode: 'postal' };
    const properties = Object.keys(contract.components.schemas['PatientPatch']?.properties ?? {});
    // getPatient shows isActive as adminUser.isActive.
    const names = properties.filter((name) => name !== 'isActive');
    const sent = Object.fromEntries(
      names.map((name) => [name, before[name in renamed ? renamed[name as keyof typeof renamed] : name]]),
    );
    expect(sent).toMatchObject({ dateOfBirth: '1990-06-30T00:00:00.000Z', gender: 'female', address: '1 Main St' });
    const told = await updates();
    for (const json of [sent, {}]) expect((await patch(json)).body).toMatchObject({ updatedAt: before.updatedAt });
    expect([await read(), await updates()]).toEqual([before, told]);
  });

  it('accepts application/merge-patch+json, and sets a property sent as null to null or its default', async () => {
    await patch({ notes: 'n', gender: 'male', isHomeAddressSameAsShipping: false });
    const raw = JSON.stringify({ notes: null, gender: null, isHomeAddressSameAsShipping: null, employer: null });
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const { token } = partner;
    const { status } = await call(harness, `PATCH /clients/${id}`, { token, raw, headers });
    expect(status).toBe(200);
    expect(await read()).toMatchObject({ notes: null, sex: null, isHomeAddressSameAsShipping: true, employer: null });
    expect((await updates()).at(-1)).toEqual(['notes', 'gender', 'isHomeAddressSameAsShipping']);
  });

  it('stores metadata as sent, merges its members, and clears it', async () => {
    const metadata = { chart: 'NW-1', tags: ['a', null], more: { x: 1, y: null, __proto__: null } };
    const created = await call(harness, 'POST /clients', { token: partner.token, json: patientBody({ metadata }) });
    expect([created.status, created.body.metadata]).toEqual([201, metadata]);
    const user = created.body.user_id;
    const merged = await patch({ metadata: { chart: null, more: { x: 2, z: [] } } }, {}, user);
    expect(merged.body.metadata).toEqual({ tags: ['a', null], more: { x: 2, y: null, z: [] } });
    expect((await patch({ metadata: null }, {}, user)).body.metadata).toBeNull();
    expect((await patch({ metadata: { a: nested(4), b: 'x'.repeat(16_000) } }, {}, user)).status).toBe(200);
  });

  it('replaces and clears the guardian', async () => {
    const guardian = { name: 'Ann Miller', relation: 'mother', phone: '5125550143' };
    const json = patientBody({ guardian });
    const created = await call(harness, 'POST /clients', { token: partner.token, json });
    const user = created.body.user_id;
    expect((await patch({}, {}, user)).body).toEqual({ ...created.body, guardian });
    const other = { ...guardian, name: 'Ben Miller' };
    expect((await patch({ guardian: other }, {}, user)).body.guardian).toEqual(other);
    expect((await patch({ guardian: null }, {}, user)).body.guardian).toBeNull();
  });

  it('shows isActive as adminUser.isActive', async () => {
    await patch({ isActive: false });
    expect((await read()).adminUser.isActive).toBe(false);
    await patch({ isActive: true });
    expect((await read()).adminUser.isActive).toBe(true);
    expect(await updates()).toEqual([['isActive'], ['isActive']]);
  });

  const changes = [
    ['NOTVERIFIED', 'firstName', 'Agnes'],
    ['NOTVERIFIED', 'lastName', 'Adler'],
    ['NOTVERIFIED', 'dateOfBirth', '1991-02-03'],
    ['VERIFIED', 'phone', '54321'],
  ];
  it.each(changes)(
    'shows a verified patient as %s after a change of %s, with an event for each change',
    async (status, field, value) => {
      await inTransaction(harness.domain, (work) => recordVerification(work, partner.tenantId, id, 'VERIFIED'));
      expect((await patch({ [field]: value })).body).toMatchObject({ isVerified: status });
      const result = status === 'VERIFIED' ? 'verified' : null;
      expect(await read()).toMatchObject({ isVerified: status, verifierResultMessage: result });
      const events = await eventsUpTo(harness, partner, 'patient.created');
      const ofPatient = events.filter(({ type, data }) => type !== 'patient.created' && data.user_id === id);
      expect(ofPatient.map(({ type, data }) => [type, data.changed ?? data.isVerified])).toEqual([
        ['patient.verification_updated', 'VERIFIED'],
        ['patient.updated', [field]],
        ...(status === 'VERIFIED' ? [] : [['patient.verification_updated', status]]),
      ]);
    },
  );
});

describe('updatePatient 400', () => {
  it.each([
    ['a date in the future', { dateOfBirth: '2999-01-01' }, '#/dateOfBirth', 'range'],
    ['metadata of six levels', { metadata: nested(6) }, '#/metadata', 'maxDepth'],
    ['metadata of more than 16 KiB', { metadata: { a: 'é'.repeat(8_192) } }, '#/metadata', 'maxBytes'],
    ['a NUL in metadata', { metadata: { a: ['\\\u0000'] } }, '#/metadata', 'pattern'],
  ])('refuses %s, and leaves the patient unchanged', async (_what, json, pointer, code) => {
    const before = await read();
    expectProblem(await patch(json), 400, 'validation_failed', [{ pointer, code }]);
    expect([await read(), await updates()]).toEqual([before, []]);
  });

  it('refuses metadata of six levels for a new patient', async () => {
    const json = patientBody({ metadata: nested(6) });
    expectProblem(await call(harness, 'POST /clients', { token: partner.token, json }), 400, 'validation_failed');
  });

  it.each(['2', '"2', 'no tag'])('refuses If-Match: `%s`, which is not an entity tag', async (tag) => {
    const answer = await patch({ notes: 'second' }, { headers: { 'If-Match': tag } });
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.errors).toMatchObject([{ code: 'pattern', detail: expect.stringContaining('quotation marks') }]);
  });
});

describe('updatePatient 412', () => {
  const patchOf = (tag: string, json: unknown): Promise<Answer> => patch(json, { headers: { 'If-Match': tag } });
  const tagOf = async (): Promise<string> =>
    (await call(harness, `GET /clients/${id}`, { token: partner.token })).headers.get('ETag') ?? '';

  it('refuses an If-Match with outdated, weak or unknown entity tags, and leaves the patient unchanged', async () => {
    const tag = await tagOf();
    const { headers } = await patchOf(tag, { notes: 'first' });
    const before = await read();
    for (const other of [tag, 'W/"2"', '"x", "y"'])
      expectProblem(await patchOf(other, { notes: 'second' }), 412, 'version_conflict');
    expect([await read(), await updates()]).toEqual([before, [['notes']]]);
    expect([before.notes, headers.get('ETag')]).toEqual(['first', `${(await tagOf()).split('.')[0]}"`]);
  });

  it('accepts an If-Match that lists the current ETag or is *, and a request without If-Match', async () => {
    for (const tag of [`"x", ${await tagOf()}`, '*'])
      expect((await patchOf(tag, { notes: `for ${tag}` })).status).toBe(200);
    expect((await patch({ notes: 'last' })).status).toBe(200);
  });

  it('keeps the version in the ETag after an empty update; a verification changes the ETag', async () => {
    const tag = await tagOf();
    expect((await patch({})).headers.get('ETag')).toBe(`${tag.split('.')[0]}"`);
    await inTransaction(harness.domain, (work) => recordVerification(work, partner.tenantId, id, 'VERIFIED'));
    expect(await tagOf()).not.toBe(tag);
  });

  it('keeps the ETag of a patient for whom an encounter with notes is created', async () => {
    const tag = await tagOf();
    await newEncounter(harness, partner, { patientId: id, additionalNotes: 'x' });
    expect(await tagOf()).toBe(tag);
  });
});

describe('updatePatient 409', () => {
  it('refuses the e-mail of another patient in any letter case, and leaves the patient unchanged', async () => {
    const other = await newPatient(harness, partner, { email: 'Taken.Once@example.com' });
    const before = await read();
    const answer = await patch({ email: 'taken.once@EXAMPLE.com', notes: 'x' });
    expectProblem(answer, 409, 'patient_email_taken', [{ pointer: '#/email' }]);
    expect(answer.body.existing_user_id).toBe(other);
    expect([await read(), await updates()]).toEqual([before, []]);
    const own = before.email.toUpperCase();
    expect((await patch({ email: own })).body.email).toBe(own);
  });
});
