import { newPartner, patientBody, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

let harness: Harness;
let partner: Partner;
/** A tenant whose requests are all invalid, so that it must stay without patients. */
let untouched: Partner;
beforeAll(async () => {
  harness = await startHarness();
  [partner, untouched] = [await newPartner(harness), await newPartner(harness)];
});
afterAll(() => harness.close());

const create = (changes: Record<string, unknown>, { token } = partner) =>
  call(harness, 'POST /clients', { token, json: patientBody(changes) });

async function expectRefused(name: string, value: unknown, code: string): Promise<void> {
  const answer = await create({ [name]: value }, untouched);
  expectProblem(answer, 400, 'validation_failed');
  expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer: `#/${name}`, code }));
  expect(await harness.domain.db.prisma.patient.count({ where: { tenantId: untouched.tenantId } })).toBe(0);
}

// A character is a code point (JSON Schema), so an emoji counts as one.
const lengths: [string, number][] = [
  ['firstName', 100],
  ['lastName', 100],
  ['notes', 5000],
  ['insuranceInfo', 10_000],
  ['medicalHistory', 10_000],
  ...[
    'address',
    'address2',
    'postalCode',
    'emergencyContact',
    'emergencyContactCode',
    'emergencyContactName',
    'employer',
    'workMobile',
    'maritalStatus',
  ].map((name): [string, number] => [name, 255]),
];

describe('a text in createPatient', () => {
  it.each(lengths)('in %s accepts %i characters of four bytes, and rejects one more', async (name, maxLength) => {
    const { status, body } = await create({ [name]: '😀'.repeat(maxLength) });
    expect(status).toBe(201);
    const where = { tenantId: partner.tenantId, id: body.user_id };
    const stored = await harness.domain.db.prisma.patient.findFirst({ where });
    expect(stored).toMatchObject({ [renamed[name] ?? name]: '😀'.repeat(maxLength) });
    await expectRefused(name, '😀'.repeat(maxLength + 1), 'maxLength');
    await expectRefused(name, 7, 'type');
  });

  it.each(['', ' ', '\t\n', '\u00a0', '\u3000 \u2003'])('must not be blank as a name: %j', async (name) => {
    await expectRefused('firstName', name, 'pattern');
    await expectRefused('lastName', name, 'pattern');
  });
});

describe('an e-mail in createPatient', () => {
  const long = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.co`;

  it.each([
    'jane@example.com',
    "JANE.Q.O'Neil+tag_1=x/y@sub.example.co",
    'x@1.2',
    `a{b}|c~d^e?f*g!h#i$j%k&l@x-y.example`,
    long,
  ])('%s is stored as sent', async (email) => {
    const { status, body } = await create({ email });
    expect(status).toBe(201);
    expect(body.email).toBe(email);
    const path = `GET /clients?email=${encodeURIComponent(email.toUpperCase())}`;
    expect((await call(harness, path, { token: partner.token })).body.data).toEqual([body]);
  });

  it.each([
    '',
    'jane',
    'jane@',
    '@example.com',
    'jane@@example.com',
    'jane@example',
    'jane@localhost',
    'jane@.example.com',
    'jane@example.com.',
    '.jane@example.com',
    'ja..ne@example.com',
    'ja ne@example.com',
    'jane@exam ple.com',
    'jane@-example.com',
    'jane@exam_ple.com',
    'jane@example.com,tom@example.com',
    'Jane <jane@example.com>',
    '"jane"@example.com',
    'mailto:jane@example.com',
    'jane@[192.0.2.1]',
    'jané@example.com',
    'jane@exämple.com',
    'jane\u212a@example.com',
    'jane\u017f@example.com',
    'jane@example.com\0',
  ])('%j is rejected', async (email) => {
    await expectRefused('email', email, 'format');
  });

  it.each([' jane@x.example', 'jane@x.example ', '\tjane@x.example', 'jane@example.com\n', '\u00a0jane@example.com'])(
    '%j with surrounding white space is rejected, not trimmed (D-48)',
    async (email) => {
      await expectRefused('email', email, 'format');
    },
  );

  it('of 255 characters is rejected', async () => {
    expect(long).toHaveLength(254);
    await expectRefused('email', `a${long}`, 'maxLength');
  });
});

describe('a phone number in createPatient', () => {
  it.each(['1234', '0000', '12345', '123456789012345'])('%s is stored as sent', async (phone) => {
    expect((await create({ phone })).body.phone).toBe(phone);
  });

  it.each([
    '123',
    '1234567890123456',
    '+15125550142',
    '512-555-0142',
    '512 555 0142',
    '５１２５５５０１４２',
    '5125550142\n',
    '555CALL',
  ])('%j is rejected', async (phone) => {
    await expectRefused('phone', phone, 'pattern');
  });

  it('of JSON type number is rejected, not converted', async () => {
    await expectRefused('phone', 5_125_550_142, 'type');
  });
});

describe('a dialing code in createPatient', () => {
  it.each(['1', '+1', '44', '+9999'])('%s is returned as sent', async (countryCode) => {
    expect((await create({ countryCode })).body.countryCode).toBe(countryCode);
  });

  it.each(['', '+', '0', '+01', '12345', '++1', '1+', ' 1', '+1\n', '001', 'US'])(
    '%j is rejected',
    async (countryCode) => {
      await expectRefused('countryCode', countryCode, 'pattern');
    },
  );
});

describe('a property with a fixed form in createPatient', () => {
  it.each([
    ['gender', 'Male', 'enum'],
    ['gender', '', 'enum'],
    ['gender', 'unknown', 'enum'],
    ['isHomeAddressSameAsShipping', 'true', 'type'],
    ['isHomeAddressSameAsShipping', 1, 'type'],
    ['stateId', 'TX', 'format'],
    ['stateId', '', 'format'],
    ['cityId', 7, 'type'],
    ['countryId', 'urn:uuid:01a10caf-a4c0-7000-8000-00000000d001', 'maxLength'],
    ['gfeStateId', '{01a10caf-a4c0-7000-8000-00000000d001}', 'format'],
  ])('%s rejects %j', async (name, value, code) => {
    await expectRefused(name, value, code);
  });
});

/** Contract properties that have another name in the database. */
const renamed: Record<string, string> = { address: 'address1', postalCode: 'postal' };
