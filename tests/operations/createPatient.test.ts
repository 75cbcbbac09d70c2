import { Prisma } from '../../generated/prisma/client.js';
import { newClient, newClinic, newPartner, patientBody, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { inTurn } from '../support/lockWaits.js';
import { expectProblem, tokenWithout } from '../support/refusals.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const create = (json: unknown, { token }: Pick<Partner, 'token'> = partner) =>
  call(harness, 'POST /clients', { token, json });
const eventsOf = ({ tenantId }: Partner) => harness.domain.db.prisma.event.findMany({ where: { tenantId } });
const patientsOf = ({ tenantId }: Partner) => harness.domain.db.prisma.patient.findMany({ where: { tenantId } });
const storedOf = ({ tenantId }: Partner, id: string) =>
  harness.domain.db.prisma.patient.findFirst({ where: { tenantId, id } });

const ids = { cityId: '01a10caf-a4c0-7000-8000-000000000c17', countryId: '01a10caf-a4c0-7000-8000-000000000c00' };
const states = { stateId: '01a10caf-a4c0-7000-8000-0000000005a7', gfeStateId: '01a10caf-a4c0-7000-8000-0000000006f3' };
const home = { address: '301 Congress Avenue', address2: 'Suite 4', postalCode: '78701', ...ids, ...states };
const emergency = { emergencyContact: '5125550199', emergencyContactCode: '+1', emergencyContactName: 'Tom Miller' };
const work = { employer: 'Acme', workMobile: '5125550111', maritalStatus: 'married' };
const health = { gender: 'other', notes: 'Prefers mornings', insuranceInfo: 'Plan 9', medicalHistory: 'None' };
const more = { guardian: { name: 'Ann Miller', relation: 'aunt', phone: '5125550143' }, metadata: { a: 1, b: [2] } };
const optional = { ...home, ...emergency, ...work, ...health, ...more, isHomeAddressSameAsShipping: false };

describe('createPatient 201', () => {
  it('creates a patient as NOTVERIFIED, and returns null for omitted properties', async () => {
    const json = patientBody({ email: 'First.Patient+tag@Example.com', countryCode: '1' });
    const { status, headers, body } = await create(json);
    expect([status, headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    const now = harness.clock.now.toISOString();
    const address = { address1: null, address2: null, cityId: null, stateId: null, countryId: null, postal: null };
    const dates = { dateOfBirth: '1990-06-30T00:00:00.000Z', createdAt: now, updatedAt: now };
    const fixed = { isVerified: 'NOTVERIFIED', sex: null, metadata: null };
    const user_id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(body).toEqual({ ...json, ...address, ...dates, ...fixed, user_id });
    const account = { accountIsActive: true, accountIsTemporaryPassword: true, verifierReminderCount: 0 };
    const omitted = { isHomeAddressSameAsShipping: true, insuranceInfo: null, medicalHistory: null };
    expect(await storedOf(partner, body.user_id)).toMatchObject({ ...account, ...omitted });
  });

  it('stores every optional property, and returns those that the schema Patient has', async () => {
    const { status, body } = await create(patientBody(optional));
    const { gender: sex, address: address1, postalCode: postal, ...unchanged } = optional;
    const { address2, cityId, stateId, countryId, metadata } = unchanged;
    expect(status).toBe(201);
    expect(body).toMatchObject({ sex, address1, address2, postal, cityId, stateId, countryId, metadata });
    expect(await storedOf(partner, body.user_id)).toMatchObject({ ...unchanged, sex, address1, postal });
  });

  it('stores an empty string in an optional property (D-49)', async () => {
    const { body } = await create(patientBody({ address: '', notes: '' }));
    const stored = await storedOf(partner, body.user_id);
    expect([body.address1, stored?.notes]).toEqual(['', '']);
  });
});

describe('createPatient 409', () => {
  it('answers patient_email_taken with existing_user_id for an e-mail in any letter case, and changes no patient', async () => {
    const mine = await newPartner(harness);
    const first = await create(patientBody({ email: 'jane@example.com' }), mine);
    const stored = await patientsOf(mine);
    harness.clock.advance(60);
    for (const email of ['JANE@example.com', 'jane@EXAMPLE.com', 'jane@example.com']) {
      const answer = await create(patientBody({ ...optional, email, firstName: 'Other' }), mine);
      expectProblem(answer, 409, 'patient_email_taken', [{ pointer: '#/email', code: 'patient_email_taken' }]);
      expect(answer.body.existing_user_id).toBe(first.body.user_id);
      expect(answer.text).not.toMatch(/jane|Other/i);
    }
    const where = { tenantId: mine.tenantId, status: 409 };
    const refusals = await harness.domain.db.prisma.auditEvent.findMany({ where });
    expect(refusals.map(({ patientIds }) => patientIds)).toEqual(Array(3).fill([first.body.user_id]));
    expect(await patientsOf(mine)).toEqual(stored);
    expect(await eventsOf(mine)).toHaveLength(1);
    const lookup = await call(harness, 'GET /clients?email=Jane@Example.com', { token: mine.token });
    expect(lookup.body.data).toEqual([first.body]);
  });

  it('creates one patient for two racing requests with one e-mail, and answers 409 with its id to the second', async () => {
    const send = (email: string) => () => create(patientBody({ email }));
    const [first, second] = await inTurn(harness, Prisma.sql`LOCK TABLE event IN EXCLUSIVE MODE`, [
      send('race@example.com'),
      send('Race@Example.com'),
    ]);
    const { status, body } = second;
    expect([first.status, status, body.code]).toEqual([201, 409, 'patient_email_taken']);
    expect(body.existing_user_id).toBe(first.body.user_id);
  });

  it('names which sent fields agree with the existing patient and which differ, without e-mail, nulls and values', async () => {
    const json = patientBody(optional);
    const { body } = await create(json);
    const sent = { ...json, firstName: 'Other', address: '1 Other Street', notes: null, metadata: { b: [2], a: 1 } };
    const changes = { stateId: states.stateId.toUpperCase(), insuranceInfo: 'Other', medicalHistory: 'None' };
    const answer = await create({ ...sent, ...changes });
    expectProblem(answer, 409, 'patient_email_taken');
    expect(answer.body.existing_user_id).toBe(body.user_id);
    const differs = ['firstName', 'address', 'insuranceInfo'];
    const unsaid = [...differs, 'email', 'notes'];
    const agrees = Object.keys(json).filter((field) => !unsaid.includes(field));
    expect([answer.body.agrees.toSorted(), answer.body.differs.toSorted()]).toEqual([
      agrees.toSorted(),
      differs.toSorted(),
    ]);
    expect(answer.text).not.toMatch(/Other|Congress|1990/);
  });

  it('neither names nor compares the existing patient for a caller without read:client (R-238) or one that may not see the patient', async () => {
    const json = patientBody();
    await create(json);
    const limited = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    for (const token of [await tokenWithout(harness, partner, 'read:client'), limited.token]) {
      const answer = await create(json, { token });
      expectProblem(answer, 409, 'patient_email_taken');
      expect(answer.text).not.toMatch(/existing_user_id|agrees|differs/);
    }
  });
});
