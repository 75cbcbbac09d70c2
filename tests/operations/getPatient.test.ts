import { newPartner, newPatient, patientBody, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';

const texas = '01a05c32-5e80-7000-8000-000000005048';
const usa = '01a05c32-5e80-7000-8000-000000000840';
const named = { id: texas, name: 'Texas', code: 'TX', countryId: usa };
const nobody = '01a10caf-a4c0-7000-8000-00000000dead';

let harness: Harness;
let partner: Partner;
let token: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  ({ token } = partner);
});
afterAll(() => harness.close());

const get = (id: string, caller: { token: string | undefined } = partner) =>
  call(harness, `GET /clients/${id}`, { token: caller.token });

describe('200', () => {
  it('returns a new patient with its account, and null for unknown properties', async () => {
    const json = patientBody({ firstName: 'Jane', lastName: 'Miller' });
    const created = await call(harness, 'POST /clients', { token, json });
    const { status, body, headers } = await get(created.body.user_id);
    expect(status).toBe(200);
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(body).toEqual({
      ...created.body,
      timezone: null,
      locale: null,
      notes: null,
      emergencyContact: null,
      emergencyContactCode: null,
      emergencyContactName: null,
      employer: null,
      workMobile: null,
      maritalStatus: null,
      gfeStateId: null,
      profileImageBlobPath: null,
      isHomeAddressSameAsShipping: true,
      verifierJobId: null,
      verifierInviteSentDate: null,
      verifierResultMessage: null,
      verifierResponsePayload: null,
      verifierReminderCount: 0,
      commsUserId: null,
      state: null,
      adminUser: {
        id: created.body.user_id,
        email: json['email'],
        phone: json['phone'],
        countryCode: json['countryCode'],
        otpExpiresAt: null,
        name: 'Jane Miller',
        isActive: true,
        isTemporaryPassword: true,
        lastPasswordReset: null,
        createdAt: created.body.createdAt,
      },
    });
  });

  it('returns the properties that were sent to createPatient', async () => {
    const sent = {
      notes: 'Prefers mornings',
      emergencyContact: '5125550199',
      emergencyContactCode: '+1',
      emergencyContactName: 'Tom',
      employer: 'Acme',
      workMobile: '5125550111',
      maritalStatus: 'married',
      gfeStateId: texas,
      isHomeAddressSameAsShipping: false,
    };
    const { body } = await get(await newPatient(harness, partner, sent));
    expect(body).toMatchObject(sent);
  });

  it('returns the verification (D-09) and the account', async () => {
    const id = await newPatient(harness, partner);
    const at = new Date('2026-11-21T10:00:00.000Z');
    await harness.domain.db.prisma.patient.update({
      where: { tenantId_id: { tenantId: partner.tenantId, id } },
      data: {
        isVerified: 'INVITED',
        verifierJobId: 'job-7',
        verifierInviteSentDate: at,
        verifierReminderCount: 2,
        verifierResultMessage: 'waiting',
        verifierResponsePayload: { score: 1 },
        metadata: { source: 'crm' },
        timezone: 'America/Chicago',
        locale: 'en-US',
        profileImageBlobPath: 'a/b',
        commsUserId: 'comms-1',
        accountIsActive: false,
        accountIsTemporaryPassword: false,
        accountOtpExpiresAt: at,
        accountLastPasswordReset: at,
      },
    });
    const { body } = await get(id);
    expect(body).toMatchObject({
      isVerified: 'INVITED',
      verifierJobId: 'job-7',
      verifierInviteSentDate: at.toISOString(),
      verifierReminderCount: 2,
      verifierResultMessage: 'waiting',
      verifierResponsePayload: { score: 1 },
      metadata: { source: 'crm' },
      timezone: 'America/Chicago',
      locale: 'en-US',
      profileImageBlobPath: 'a/b',
      commsUserId: 'comms-1',
      adminUser: {
        isActive: false,
        isTemporaryPassword: false,
        otpExpiresAt: at.toISOString(),
        lastPasswordReset: at.toISOString(),
      },
    });
  });

  it.each([
    ['the state that stateId names', texas, named],
    ['the state of a stateId in upper case', texas.toUpperCase(), named],
    ['no state when stateId is unknown', nobody, null],
  ])('returns %s (D-02)', async (_which, stateId, state) => {
    const { body } = await get(await newPatient(harness, partner, { stateId }));
    expect(body).toMatchObject({ stateId: stateId.toLowerCase(), state });
  });

  it('finds each of many patients by its id in either case', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => newPatient(harness, partner)));
    const answers = await Promise.all(ids.flatMap((id) => [get(id.toUpperCase()), get(id)]));
    expect(answers.map(({ body }) => body.user_id)).toEqual(ids.flatMap((id) => [id, id]));
  });
});

describe('400', () => {
  it.each([
    ['a word', 'me', ['format']],
    ['a URN', `urn:uuid:${nobody}`, ['maxLength']],
    ['braces', `%7B${nobody}%7D`, ['maxLength', 'format']],
    ['a UUID without hyphens', nobody.replaceAll('-', ''), ['format']],
    ['a digit too many', `${nobody}0`, ['maxLength', 'format']],
    ['a NUL', `${nobody.slice(1)}%00`, ['format']],
    ['malformed percent-encoding', '%E0%A4%A', ['format']],
    ['SQL', "'%20OR%20'1'='1", ['format']],
  ])('refuses the id: %s', async (_what, id, rules) => {
    expectProblem(
      await get(id),
      400,
      'validation_failed',
      rules.map((code) => ({ parameter: 'id', code })),
    );
  });

  it('refuses a query parameter, and does not repeat it', async () => {
    const answer = await call(harness, `GET /clients/${nobody}?expand=Jane%20Miller`, { token });
    expectProblem(answer, 400, 'validation_failed', [{ parameter: 'expand', code: 'additionalProperties' }]);
    expect(answer.text).not.toContain('Miller');
  });
});

describe('404', () => {
  it("answers alike for another tenant's patient and an unknown id", async () => {
    const other = await newPartner(harness);
    const id = await newPatient(harness, other);
    const requestId = '01a10caf-a4c0-7000-8000-0000000000aa';
    const ask = (wanted: string) =>
      call(harness, `GET /clients/${wanted}`, { token, headers: { 'X-Request-Id': requestId } });
    const [foreign, unknown] = await Promise.all([ask(id), ask(nobody)]);
    expectProblem(foreign, 404, 'patient_not_found');
    expect(foreign.text).toBe(unknown.text);
    expect((await get(id, other)).status).toBe(200);
  });
});
