import { birthDate } from '../../../src/domain/patients/patients.js';
import { validateRequest } from '../../../src/http/endpoint/validation.js';
import { operationOf } from '../../support/contract.js';
import { patientBody } from '../../support/factories.js';
import { problemOf } from './world.js';

const { schema: body = {} } = operationOf('createPatient').requestBody?.content['application/json'] ?? {};
const request = { type: 'object', properties: { body } };

/** The faults of createPatient with these changes. */
const faultsOf = (changes: Record<string, unknown>): { pointer: string; code: string }[] => {
  const sent = JSON.parse(JSON.stringify(patientBody(changes)));
  const problem = problemOf(() => validateRequest(request, { body: sent }));
  return (problem?.errors ?? []).map(({ pointer = '', code }) => ({ pointer, code }));
};
const fault = (name: string, code: string) => expect.arrayContaining([{ pointer: `#/${name}`, code }]);

it('createPatient names every invalid property in one response', () => {
  expect(faultsOf({ firstName: '', phone: 'x', lastName: undefined })).toEqual([
    { pointer: '#/lastName', code: 'required' },
    { pointer: '#/firstName', code: 'minLength' },
    { pointer: '#/firstName', code: 'pattern' },
    { pointer: '#/phone', code: 'pattern' },
  ]);
});

it.each(['', ' ', '\t\n', '\u00a0', '\u3000 \u2003'])('a name in createPatient must not be blank: %j', (name) => {
  expect(faultsOf({ firstName: name })).toEqual(fault('firstName', 'pattern'));
  expect(faultsOf({ lastName: name })).toEqual(fault('lastName', 'pattern'));
});

describe('an e-mail in createPatient', () => {
  const long = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.co`;
  const ordinary = ['jane@example.com', "JANE.Q.O'Neil+tag_1=x/y@sub.example.co", 'x@1.2'];

  it.each([...ordinary, `a{b}|c~d^e?f*g!h#i$j%k&l@x-y.example`, long])('%s is accepted', (email) => {
    expect(faultsOf({ email })).toEqual([]);
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
  )('%j is rejected', (email) => {
    expect(faultsOf({ email })).toEqual(fault('email', 'format'));
  });

  it('of 255 characters is rejected', () => {
    expect(long).toHaveLength(254);
    expect(faultsOf({ email: `a${long}` })).toEqual(fault('email', 'maxLength'));
  });
});

describe('a phone number in createPatient', () => {
  it.each(['1234', '0000', '12345', '123456789012345'])('%s is accepted', (phone) => {
    expect(faultsOf({ phone })).toEqual([]);
  });

  it.each(
    '123|1234567890123456|+15125550142|512-555-0142|512 555 0142|５１２５５５０１４２|5125550142\n|555CALL'.split('|'),
  )('%j is rejected', (phone) => {
    expect(faultsOf({ phone })).toEqual(fault('phone', 'pattern'));
  });
});

describe('a dialing code in createPatient', () => {
  it.each(['1', '+1', '44', '+9999'])('%s is accepted', (countryCode) => {
    expect(faultsOf({ countryCode })).toEqual([]);
  });

  it.each(['', '+', '0', '+01', '12345', '++1', '1+', ' 1', '+1\n', '001', 'US'])('%j is rejected', (countryCode) => {
    expect(faultsOf({ countryCode })).toEqual(fault('countryCode', 'pattern'));
  });
});

describe('the date of birth in createPatient', () => {
  // The earliest time zone, UTC+14, begins its day ten hours after the UTC day before began.
  it.each([
    ['2026-11-20T09:59:59.999Z', '2026-11-20', 'no error'],
    ['2026-11-20T09:59:59.999Z', '2026-11-21', 'the error range'],
    ['2026-11-20T10:00:00.000Z', '2026-11-21', 'no error'],
    ['2026-11-20T10:00:00.000Z', '2026-11-22', 'the error range'],
    ['2026-11-20T23:59:59.999Z', '2026-11-21', 'no error'],
    ['2026-12-31T10:00:00.000Z', '2027-01-01', 'no error'],
    ['2026-12-31T09:59:59.999Z', '2027-01-01', 'the error range'],
  ])('must not be later than today in the time zone furthest ahead: at %s, %s has %s', (now, date, code) => {
    const fault = problemOf(() => birthDate(date, new Date(now)))?.errors[0];
    expect(fault ? `the error ${fault.code}` : 'no error').toBe(code);
  });

  it.each(['1899-12-31', '1000-01-01', '0000-01-01', '2026-11-22', '2027-11-20', '9999-12-31'])(
    'is rejected with range, and not repeated: %s',
    (date) => {
      const problem = problemOf(() => birthDate(date, new Date('2026-11-20T16:00:00.000Z')));
      expect(problem?.errors).toMatchObject([{ pointer: '#/dateOfBirth', code: 'range' }]);
      expect(JSON.stringify([problem?.message, problem?.errors])).not.toContain(date);
    },
  );

  it.each([
    ...['1900-02-29', '2023-02-29', '2026-02-30', '1990-06-31', '1990-13-01', '1990-00-10', '1990-06-00'],
    ...['1990-6-30', '90-06-30', '19900630', '30/06/1990', '06-30-1990', '1990-06-30T00:00:01Z', 'yesterday'],
    ...['1990-06-30 ', ' 1990-06-30', '+1990-06-30', '１９９０-06-30', '', '1990-06-30T00:00:00.000Z'],
  ])('is rejected with format: %j', (dateOfBirth) => {
    expect(faultsOf({ dateOfBirth })).toEqual(fault('dateOfBirth', 'format'));
  });
});
