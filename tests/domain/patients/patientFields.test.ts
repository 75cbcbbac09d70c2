import { newPartner, newToken, patientBody } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

const harness = await openHarness();
/** A tenant whose requests are all invalid, so that it must stay without patients. */
const [partner, untouched] = [await newPartner(harness), await newPartner(harness)];

const create = (changes: Record<string, unknown>, { token } = partner) =>
  call(harness, 'POST /clients', { token, json: patientBody(changes) });

async function expectRefused(name: string, value: unknown, code: string): Promise<void> {
  const answer = await create({ [name]: value }, untouched);
  expectProblem(answer, 400, 'validation_failed');
  expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer: `#/${name}`, code }));
  expect(await harness.domain.db.prisma.patient.count({ where: { tenantId: untouched.tenantId } })).toBe(0);
}

describe('a text in createPatient', () => {
  const others = 'address address2 postalCode emergencyContact emergencyContactCode emergencyContactName employer';
  // A character is a code point (JSON Schema), so an emoji counts as one.
  it.each([
    ...['firstName', 'lastName'].map((name) => [name, 100] as const),
    ['notes', 5_000] as const,
    ...['insuranceInfo', 'medicalHistory'].map((name) => [name, 10_000] as const),
    ...[...others.split(' '), 'workMobile', 'maritalStatus'].map((name) => [name, 255] as const),
  ])('in %s accepts %i characters of four bytes, and rejects one more', async (name, maxLength) => {
    const text = '😀'.repeat(maxLength);
    const { status, body } = await create({ [name]: text });
    expect(status).toBe(201);
    const where = { tenantId: partner.tenantId, id: body.user_id };
    const column = { address: 'address1', postalCode: 'postal' }[name] ?? name;
    expect(await harness.domain.db.prisma.patient.findFirst({ where })).toMatchObject({ [column]: text });
    await expectRefused(name, `${text}😀`, 'maxLength');
    await expectRefused(name, 7, 'type');
  });

  it.each([
    ['accents', 'José Ñúñez-Ångström'],
    ['combining accents (not normalized)', 'Jose\u0301'],
    ['Chinese', '李小龍'],
    ['Arabic', 'مريم عبد الله'],
    ['characters beyond 16 bits', '𠮷野家 𝒥ane'],
    ['composed emoji', '👩🏽‍⚕️👨‍👩‍👧‍👦🇺🇸'],
    ['quotes and markup', `O'Brien "Bob" <b>&amp;</b> \\ / ; -- $1 %s {{x}}`],
    ['line breaks and tabs', 'a\r\nb\tc\n'],
    ['control characters other than NUL', '\u0001\u001f\u007f\u0085\u200b\u202e\ufeff'],
    ['the last characters of Unicode', 'x\uffff\u{10ffff}'],
    ['white space around it', '  Jane  '],
  ])('with %s is returned as sent', async (_content, text) => {
    const changes = { firstName: text, address: text, notes: text, employer: text, insuranceInfo: text };
    const { status, body } = await create(changes);
    expect(status).toBe(201);
    expect([body.firstName, body.address1]).toEqual([text, text]);
    const read = (await call(harness, `GET /clients/${body.user_id}`, partner)).body;
    expect([read.firstName, read.address1, read.notes, read.employer]).toEqual([text, text, text, text]);
    expect(read.adminUser.name).toBe(`${text} ${body.lastName}`);
    const where = { tenantId: partner.tenantId, id: body.user_id };
    const stored = await harness.domain.db.prisma.patient.findFirst({ where });
    expect(stored?.insuranceInfo).toBe(text);
  });

  it('may be sent as escapes, including the two halves of a surrogate pair', async () => {
    const json = JSON.stringify(patientBody({ firstName: 'HERE' }));
    const raw = json.replace('HERE', String.raw`\ud83d\ude00\u00e9\uD83D\uDE00`);
    const headers = { 'Content-Type': 'application/json' };
    const { body } = await call(harness, 'POST /clients', { token: partner.token, raw, headers });
    expect(body.firstName).toBe('😀é😀');
  });

  it.each(['', ' ', '\t\n', '\u00a0', '\u3000 \u2003'])('must not be blank as a name: %j', async (name) => {
    await expectRefused('firstName', name, 'pattern');
    await expectRefused('lastName', name, 'pattern');
  });
});

describe('an e-mail in createPatient', () => {
  const long = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.co`;
  const ordinary = ['jane@example.com', "JANE.Q.O'Neil+tag_1=x/y@sub.example.co", 'x@1.2'];

  it.each([...ordinary, `a{b}|c~d^e?f*g!h#i$j%k&l@x-y.example`, long])('%s is stored as sent', async (email) => {
    const { status, body } = await create({ email });
    expect(status).toBe(201);
    expect(body.email).toBe(email);
    const path = `GET /clients?email=${encodeURIComponent(email.toUpperCase())}`;
    expect((await call(harness, path, { token: partner.token })).body.data).toEqual([body]);
  });

  it.each(
    [
      '|jane|jane@|@example.com|jane@@example.com|jane@example|jane@localhost|jane@.example.com|jane@example.com.',
      '.jane@example.com|ja..ne@example.com|ja ne@example.com|jane@exam ple.com|jane@-example.com|jane@exam_ple.com',
      'jane@example.com,tom@example.com|Jane <jane@example.com>|"jane"@example.com|mailto:jane@example.com',
      'jane@[192.0.2.1]|jané@example.com|jane@exämple.com|jane\u212a@example.com|jane\u017f@example.com',
      // White space is not trimmed.
      ' jane@x.example|jane@x.example |\tjane@x.example|jane@example.com\n|\u00a0jane@example.com|jane@example.com\0',
    ].flatMap((line) => line.split('|')),
  )('%j is rejected', async (email) => {
    await expectRefused('email', email, 'format');
  });

  it('of 255 characters is rejected', async () => {
    expect(long).toHaveLength(254);
    await expectRefused('email', `a${long}`, 'maxLength');
  });
});

describe('a phone number in createPatient', () => {
  it.each(['1234', '0000', '12345', '123456789012345'])('%s is stored as sent', async (phone) => {
    expect((await create({ phone })).body.phone).toBe(phone);
  });

  it.each(
    '123|1234567890123456|+15125550142|512-555-0142|512 555 0142|５１２５５５０１４２|5125550142\n|555CALL'.split('|'),
  )('%j is rejected', async (phone) => {
    await expectRefused('phone', phone, 'pattern');
  });
});

describe('a dialing code in createPatient', () => {
  it.each(['1', '+1', '44', '+9999'])('%s is returned as sent', async (countryCode) => {
    expect((await create({ countryCode })).body.countryCode).toBe(countryCode);
  });

  it.each(['', '+', '0', '+01', '12345', '++1', '1+', ' 1', '+1\n', '001', 'US'])('%j is rejected', async (code) => {
    await expectRefused('countryCode', code, 'pattern');
  });
});

describe('the date of birth in createPatient', () => {
  const createBornOn = (dateOfBirth: unknown, caller = partner) => create({ dateOfBirth }, caller);

  it.each(['1900-01-01', '1990-06-30', '2000-02-29', '2024-02-29', '1969-12-31', '1970-01-01'])(
    'stores %s and shows it as midnight UTC',
    async (date) => {
      const { status, body } = await createBornOn(date);
      expect(status).toBe(201);
      const read = await call(harness, `GET /clients/${body.user_id}`, { token: partner.token });
      expect([body.dateOfBirth, read.body.dateOfBirth]).toEqual([`${date}T00:00:00.000Z`, `${date}T00:00:00.000Z`]);
      const stored = await harness.domain.db.prisma.$queryRaw<{ day: string }[]>`
        SELECT date_of_birth::text AS day FROM client WHERE id = ${body.user_id}::uuid`;
      expect(stored).toEqual([{ day: date }]);
    },
  );

  // The earliest time zone, UTC+14, begins its day ten hours after the UTC day before began.
  it.each([
    ['2026-11-20T09:59:59.999Z', '2026-11-20', 201],
    ['2026-11-20T09:59:59.999Z', '2026-11-21', 400],
    ['2026-11-20T10:00:00.000Z', '2026-11-21', 201],
    ['2026-11-20T10:00:00.000Z', '2026-11-22', 400],
    ['2026-11-20T23:59:59.999Z', '2026-11-21', 201],
    ['2026-12-31T10:00:00.000Z', '2027-01-01', 201],
    ['2026-12-31T09:59:59.999Z', '2027-01-01', 400],
  ])(
    'must not be later than today in the time zone that is furthest ahead: at %s, %s gives %i',
    async (time, date, status) => {
      const { now } = harness.clock;
      harness.clock.now = new Date(time);
      const answer = await createBornOn(date, { ...partner, token: await newToken(harness, partner) });
      harness.clock.now = now;
      expect(answer.status).toBe(status);
    },
  );

  it.each<[code: string, values: readonly unknown[]]>([
    ['range', ['1899-12-31', '1000-01-01', '0000-01-01', '2026-11-22', '2027-11-20', '9999-12-31']],
    ['format', ['1900-02-29', '2023-02-29', '2026-02-30', '1990-06-31', '1990-13-01', '1990-00-10', '1990-06-00']],
    ['format', ['1990-6-30', '90-06-30', '19900630', '30/06/1990', '06-30-1990', '1990-06-30T00:00:01Z', 'yesterday']],
    ['format', ['1990-06-30 ', ' 1990-06-30', '+1990-06-30', '１９９０-06-30', '', '1990-06-30T00:00:00.000Z']],
  ])('is rejected with %s: %j', async (code, dates) => {
    for (const date of dates) {
      const answer = await createBornOn(date, untouched);
      expectProblem(answer, 400, 'validation_failed', [{ pointer: '#/dateOfBirth', code }]);
      // The problem does not repeat a date of birth.
      if (code === 'range') expect(answer.text).not.toContain(date);
    }
  });
});
