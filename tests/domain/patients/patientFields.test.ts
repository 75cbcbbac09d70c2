import { everyCase } from '../../support/everyCase.js';
import { newPartner, patientBody } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';

// tests/domain/decisions/patientFields.test.ts tests the refused values.

const harness = await openHarness();
const partner = await newPartner(harness);
const { tenantId } = partner;

const create = async (changes: Record<string, unknown>) => {
  const { status, body } = await call(harness, 'POST /clients', { token: partner.token, json: patientBody(changes) });
  expect(status).toBe(201);
  return body;
};
const storedOf = (id: string) => harness.domain.db.prisma.patient.findFirst({ where: { tenantId, id } });

it('createPatient stores texts of the longest length, in characters of four bytes', () => {
  const others = 'address address2 postalCode emergencyContact emergencyContactCode emergencyContactName employer';
  // A character is a code point (JSON Schema), so an emoji counts as one.
  const lengths = [
    ...['firstName', 'lastName'].map((name) => [name, 100] as const),
    ['notes', 5_000] as const,
    ...['insuranceInfo', 'medicalHistory'].map((name) => [name, 10_000] as const),
    ...[...others.split(' '), 'workMobile', 'maritalStatus'].map((name) => [name, 255] as const),
  ];
  return everyCase(lengths, String, async ([name, maxLength]) => {
    const text = '😀'.repeat(maxLength);
    const column = { address: 'address1', postalCode: 'postal' }[name] ?? name;
    expect(await storedOf((await create({ [name]: text })).user_id)).toMatchObject({ [column]: text });
  });
});

it('createPatient and getPatient return texts as sent', () => {
  const texts = [
    ...['José Ñúñez-Ångström', 'Jose\u0301', '李小龍', 'مريم عبد الله', '𠮷野家 𝒥ane', '👩🏽‍⚕️👨‍👩‍👧‍👦🇺🇸'],
    ...[`O'Brien "Bob" <b>&amp;</b> \\ / ; -- $1 %s {{x}}`, 'a\r\nb\tc\n', '  Jane  ', 'x\uffff\u{10ffff}'],
    '\u0001\u001f\u007f\u0085\u200b\u202e\ufeff',
  ];
  return everyCase(texts, String, async (text) => {
    const changes = { firstName: text, address: text, notes: text, employer: text, insuranceInfo: text };
    const body = await create(changes);
    expect([body.firstName, body.address1]).toEqual([text, text]);
    const read = (await call(harness, `GET /clients/${body.user_id}`, partner)).body;
    expect([read.firstName, read.address1, read.notes, read.employer]).toEqual([text, text, text, text]);
    expect(read.adminUser.name).toBe(`${text} ${body.lastName}`);
    expect((await storedOf(body.user_id))?.insuranceInfo).toBe(text);
  });
});

it('createPatient stores the date of birth as a day, and shows it as midnight UTC', () =>
  everyCase(['1900-01-01', '2000-02-29', '1969-12-31', '1970-01-01'], String, async (date) => {
    const body = await create({ dateOfBirth: date });
    const read = await call(harness, `GET /clients/${body.user_id}`, { token: partner.token });
    expect([body.dateOfBirth, read.body.dateOfBirth]).toEqual([`${date}T00:00:00.000Z`, `${date}T00:00:00.000Z`]);
    const stored = await harness.domain.db.prisma.$queryRaw<{ day: string }[]>`
      SELECT date_of_birth::text AS day FROM client WHERE id = ${body.user_id}::uuid`;
    expect(stored).toEqual([{ day: date }]);
  }));
