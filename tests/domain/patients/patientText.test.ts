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

const send = ({ token }: Partner, raw: string | Uint8Array<ArrayBuffer>) =>
  call(harness, 'POST /clients', { token, raw, headers: { 'Content-Type': 'application/json' } });
const create = (changes: Record<string, unknown>, caller = partner) =>
  send(caller, JSON.stringify(patientBody(changes)));
const get = (id: string) => call(harness, `GET /clients/${id}`, { token: partner.token });

const texts =
  'firstName lastName address address2 postalCode notes emergencyContact emergencyContactCode emergencyContactName ' +
  'employer workMobile maritalStatus insuranceInfo medicalHistory';

describe('a text in createPatient', () => {
  it.each([
    ['accents', 'José Ñúñez-Ångström'],
    ['combining accents (not normalised)', 'Jose\u0301'],
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
    const read = (await get(body.user_id)).body;
    expect([read.firstName, read.address1, read.notes, read.employer]).toEqual([text, text, text, text]);
    expect(read.adminUser.name).toBe(`${text} Miller`);
    const where = { tenantId: partner.tenantId, id: body.user_id };
    const stored = await harness.domain.db.prisma.patient.findFirst({ where });
    expect(stored?.insuranceInfo).toBe(text);
  });

  it('may be sent as escapes, including the two halves of a surrogate pair', async () => {
    const json = JSON.stringify(patientBody({ firstName: 'HERE' }));
    const raw = json.replace('HERE', String.raw`\ud83d\ude00\u00e9\uD83D\uDE00`);
    expect((await send(partner, raw)).body.firstName).toBe('😀é😀');
  });

  it.each(texts.split(' '))('with a NUL is rejected in %s (D-45)', async (name) => {
    for (const text of ['\0', 'Secret\0Name', 'Secret\0']) {
      const answer = await create({ [name]: text }, untouched);
      expectProblem(answer, 400, 'validation_failed', [{ pointer: `#/${name}`, code: 'pattern' }]);
      expect(answer.text).not.toContain('Secret');
    }
    expect(await countOf(untouched)).toBe(0);
  });

  it.each([
    ['a first half', String.raw`Secret\ud800`],
    ['a second half', String.raw`\udc00Secret`],
    ['halves in the wrong order', String.raw`\ude00\ud83dSecret`],
    ['a first half twice', String.raw`\uD83D\uD83D\uDE00Secret`],
    ['a half after a pair', String.raw`\ud83d\ude00\ud83dSecret`],
  ])('with %s of a surrogate pair is malformed JSON, anywhere in the body (D-45)', async (_half, escapes) => {
    const json = JSON.stringify(patientBody({ notes: 'HERE' }));
    const values = [
      `"notes":"${escapes}"`,
      `"${escapes}":1`,
      `"notes":["${escapes}"]`,
      `"notes":{"a":{"${escapes}":1}}`,
    ];
    for (const value of values) {
      const answer = await send(untouched, json.replace('"notes":"HERE"', value));
      expectProblem(answer, 400, 'malformed_json');
      expect(answer.text).not.toContain('Secret');
    }
    expect(await countOf(untouched)).toBe(0);
  });

  it.each([
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['Latin-1', [0xe9]],
    ['an overlong NUL', [0xc0, 0x80]],
    ['half a character', [0xf0, 0x9f, 0x98]],
  ])('with bytes of %s, which are not UTF-8, is malformed JSON', async (_content, bytes) => {
    const [before = '', after = ''] = JSON.stringify(patientBody({ notes: 'HERE' })).split('HERE');
    const raw = Uint8Array.from([...Buffer.from(before), ...bytes, ...Buffer.from(after)]);
    expectProblem(await send(untouched, raw), 400, 'malformed_json');
    expect(await countOf(untouched)).toBe(0);
  });
});

const countOf = ({ tenantId }: Partner): Promise<number> =>
  harness.domain.db.prisma.patient.count({ where: { tenantId } });
