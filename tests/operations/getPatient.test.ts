import { newClient, newPartner, newPatient, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const texas = '01a05c32-5e80-7000-8000-000000005048';
const usa = '01a05c32-5e80-7000-8000-000000000840';
const named = { id: texas, name: 'Texas', code: 'TX', countryId: usa };
const absent = '01a10caf-a4c0-7000-8000-00000000dead';

const harness = await openHarness();
const partner = await newPartner(harness);
const { token } = partner;

const get = (id: string, caller: { token: string | undefined } = partner) =>
  call(harness, `GET /clients/${id}`, { token: caller.token });

describe('getPatient 200', () => {
  it('returns a new patient with its account, and null for unknown properties', async () => {
    const json = patientBody({ firstName: 'Jane', lastName: 'Miller' });
    const created = await call(harness, 'POST /clients', { token, json });
    const { status, body, headers } = await get(created.body.user_id);
    expect([status, headers.get('Cache-Control'), headers.get('ETag')]).toEqual([
      ...[200, 'no-store', expect.stringMatching(/^"1\.[0-9a-f]{16}"$/)],
    ]);
    const { adminUser, ...patient } = body;
    const known = { ...created.body, isHomeAddressSameAsShipping: true, verifierReminderCount: 0 };
    expect(patient).toMatchObject(known);
    expect(Object.keys(patient).filter((name) => !(name in known) && patient[name] !== null)).toEqual([]);
    const { user_id: id, createdAt } = created.body;
    const { email, phone, countryCode } = json;
    const account = { name: 'Jane Miller', isActive: true, isTemporaryPassword: true };
    const never = { otpExpiresAt: null, lastPasswordReset: null };
    expect(adminUser).toEqual({ id, email, phone, countryCode, createdAt, ...account, ...never });
  });

  it('returns the verification (R-122) and the account', async () => {
    const id = await newPatient(harness, partner);
    const at = new Date('2026-11-21T10:00:00.000Z');
    const verified = { isVerified: 'INVITED', verifierJobId: 'job-7', verifierReminderCount: 2 } as const;
    const result = { verifierResultMessage: 'waiting', verifierResponsePayload: { score: 1 } };
    const person = { metadata: { source: 'crm' }, timezone: 'America/Chicago', locale: 'en-US' };
    const shown = { ...verified, ...result, ...person, profileImageBlobPath: 'a/b', commsUserId: 'comms-1' };
    const account = { accountIsActive: false, accountIsTemporaryPassword: false };
    const times = { verifierInviteSentDate: at, accountOtpExpiresAt: at, accountLastPasswordReset: at };
    const where = { tenantId: partner.tenantId, id };
    await harness.domain.db.prisma.patient.updateMany({ where, data: { ...shown, ...account, ...times } });
    const iso = at.toISOString();
    const adminUser = { isActive: false, isTemporaryPassword: false, otpExpiresAt: iso, lastPasswordReset: iso };
    expect((await get(id)).body).toMatchObject({ ...shown, verifierInviteSentDate: iso, adminUser });
  });

  it.each([
    ['the state of a stateId in upper case', texas.toUpperCase(), named],
    ['no state when stateId is unknown', absent, null],
  ])('returns %s', async (_which, stateId, state) => {
    const { body } = await get(await newPatient(harness, partner, { stateId }));
    expect(body).toMatchObject({ stateId: stateId.toLowerCase(), state });
  });
});

describe('getPatient 304', () => {
  it('answers 304 if If-None-Match names the current ETag or is *, until the response to this caller changes', async () => {
    const id = await newPatient(harness, partner);
    const ask = (tag: string, caller: { token: string | undefined } = partner) =>
      call(harness, `GET /clients/${id}`, { token: caller.token, headers: { 'If-None-Match': tag } });
    const tag = (await get(id)).headers.get('ETag') ?? '';
    for (const known of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
      const { status, text, headers } = await ask(known);
      expect([status, text, headers.get('ETag')]).toEqual([304, '', tag]);
    }
    // Another caller sees less, so its response differs; the tag of a change matches no retrieval.
    expect((await ask(tag, await newClient(harness, partner.tenantId, ['read:client']))).status).toBe(200);
    const changed = await call(harness, `PATCH /clients/${id}`, { token, json: { notes: 'x' } });
    for (const other of [tag, changed.headers.get('ETag') ?? '']) expect((await ask(other)).status).toBe(200);
  });
});
