import { newClient, newClinic, newPartner, newPatient, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const find = (query: string, { token }: { token: string | undefined } = partner) =>
  call(harness, `GET /clients${query}`, { token });
const byEmail = (email: string, caller = partner) => find(`?email=${encodeURIComponent(email)}`, caller);

const onePage = { page: 1, limit: 20, hasNext: false, hasPrev: false };

describe('findPatients 200', () => {
  it.each([
    ['as it was sent', 'Mary.Major+news@Example.com'],
    ['in upper case', 'MARY.MAJOR+NEWS@EXAMPLE.COM'],
    ['in lower case', 'mary.major+news@example.com'],
  ])('finds the patient by its e-mail %s (R-239)', async (_how, email) => {
    const mine = await newPartner(harness);
    const json = patientBody({ email: 'Mary.Major+news@Example.com' });
    const created = await call(harness, 'POST /clients', { token: mine.token, json });
    for (const other of ['mary.major@example.com', 'marymajor+news@example.com', 'mary.major+news@example.org']) {
      await newPatient(harness, mine, { email: other });
    }
    const { status, headers, body } = await byEmail(email, mine);
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ data: [created.body], meta: { ...onePage, total: 1, totalPages: 1 } });
  });

  it.each([
    ['an e-mail of no patient', 'nobody@example.com'],
    ['a part of an e-mail', 'tom.minor@example.co'],
    ['an e-mail with the wildcard %', 'tom%minor@example.com'],
    ['an e-mail with the wildcard _', 'tom_minor@example.com'],
    ['an e-mail without its tag', 'tom@example.com'],
  ])('returns an empty list for %s', async (_why, email) => {
    const mine = await newPartner(harness);
    await newPatient(harness, mine, { email: 'tom.minor@example.com' });
    await newPatient(harness, mine, { email: 'tom+tag@example.com' });
    const { status, body } = await byEmail(email, mine);
    expect([status, body]).toEqual([200, { data: [], meta: { ...onePage, total: 0, totalPages: 0 } }]);
  });

  it('finds visible patients by last name in any letter case and birth date, the newest first, and audits those on the page', async () => {
    const mine = await newPartner(harness);
    const person = { lastName: "O'Neil", dateOfBirth: '1985-02-11' };
    const ids: string[] = [];
    for (let number = 0; number < 3; number += 1) {
      ids.unshift(await newPatient(harness, mine, number === 1 ? { ...person, lastName: "O'NEIL" } : person));
      harness.clock.advance(1);
    }
    const other = await newPatient(harness, mine, { ...person, dateOfBirth: '1985-02-12' });
    await newPatient(harness, mine, { ...person, lastName: "O'Neill" });
    await newPatient(harness, await newPartner(harness), person);
    const idsOf = async (query: string, caller = mine): Promise<string[]> =>
      (await find(query, caller)).body.data.map(({ user_id }: { user_id: string }) => user_id);
    expect(await idsOf('?lastName=o%27neil&dateOfBirth=1985-02-11&limit=2')).toEqual(ids.slice(0, 2));
    const rows = await harness.domain.db.prisma.auditEvent.findMany({
      where: { tenantId: mine.tenantId, operationId: 'findPatients' },
    });
    expect(rows.map(({ patientIds }) => patientIds)).toEqual([ids.slice(0, 2)]);
    expect(await idsOf('?lastName=o%27neil&dateOfBirth=1985-02-11&limit=2&page=2')).toEqual(ids.slice(2));
    expect(await idsOf('?lastName=O%27NEIL&dateOfBirth=1985-02-12')).toEqual([other]);
    expect(await idsOf('?lastName=O%27NEIL&dateOfBirth=1985-02-12&email=a@example.com')).toEqual([]);
    const limited = await newClient(harness, mine.tenantId, undefined, [await newClinic(harness, mine)]);
    expect(await idsOf('?lastName=o%27neil&dateOfBirth=1985-02-11', limited)).toEqual([]);
  });
});

describe('findPatients 400', () => {
  it.each([
    ['a query without parameters', '', 'email', ['required']],
    ['a last name without a birth date', '?lastName=Tom', 'dateOfBirth', ['required']],
    ['a birth date without a last name', '?dateOfBirth=1990-01-01&email=tom@example.com', 'lastName', ['required']],
    ['a malformed e-mail', '?email=jane', 'email', ['format']],
    ['an unencoded plus sign, which means a space', '?email=jane+tag@example.com', 'email', ['format']],
  ])('answers 400 to %s, and quotes no e-mail', async (_what, query, parameter, rules) => {
    const answer = await find(query);
    const faults = rules.map((code) => ({ parameter, code }));
    expectProblem(answer, 400, 'validation_failed', faults);
    expect(answer.text).not.toMatch(/jane|tom/);
  });
});
