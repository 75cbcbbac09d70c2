import fc from 'fast-check';
import { operations, targetOf, type ContractOperation } from '../support/contract.js';
import { encounterBody, newPartner, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { loginBody } from '../support/tokens.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const encounter = await encounterBody(harness, partner);
const schedule = { scheduledDay: '2027-03-01', scheduledTime: '10:00:00', scheduledTimeZone: 'Europe/London' };
/** Valid bodies, so that random values in them reach the database. */
const bodies: Record<string, Record<string, unknown>> = {
  issueToken: loginBody(partner),
  createPatient: patientBody({ isHomeAddressSameAsShipping: true, gender: 'female', notes: '' }),
  createEncounter: { ...encounter, ...schedule },
  getEncounterStatus: { encounter_id: 100_001, gfe_no: 'GFE-100001' },
  uploadPatientDocument: { url: 'https://127.0.0.1/a.pdf', fileName: 'a.pdf' },
};

/** Any text without lone surrogates, which `fetch` would replace. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(
    ...['', ' ', '%', '_%\\', "' OR 1=1 --", '\u0000', '\r\n', '\u202e', '\ufeff', '../../etc/passwd', '{"a":1}'],
    ...['2027-02-30', '2027-03-14', '24:00:00', 'Z', '+05:30', 'GMT+5', 'America/New_York', 'GFE-999999999999999999'],
    ...['a@b.c', 'É@example.com', 'https://user:x@host', 'http://[::1]:1/', 'data:,', '[object Object]'],
    ...['-1', '1e400', '9007199254740993', 'true', 'null'],
  ),
  fc.string({ minLength: 250, maxLength: 300 }),
  fc.uuid(),
);
const anything = fc.oneof(text, fc.jsonValue(), fc.integer(), fc.double(), fc.array(text, { maxLength: 25 }));

/** A valid body with properties replaced, removed or added, or any JSON. */
const bodyFor = ({ operationId }: ContractOperation) => {
  const names = Object.keys(bodies[operationId] ?? {});
  const changes = fc.dictionary(
    fc.oneof(fc.constantFrom('unknown', ...names), text),
    fc.option(anything, { nil: undefined }),
    { maxKeys: 3 },
  );
  const changed = changes.map((values) => ({ ...bodies[operationId], ...values }));
  return fc.oneof({ weight: 4, arbitrary: changed }, { weight: 1, arbitrary: anything });
};

const queryFor = ({ parameters }: ContractOperation) => {
  const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom('unknown', ...names) }, { weight: 1, arbitrary: text });
  return fc.array(fc.tuple(name, text), { maxLength: 4 });
};

const requests = (operation: ContractOperation) =>
  fc.record({
    operation: fc.constant(operation),
    path: fc.dictionary(fc.constantFrom('id', 'documentType', 'encounter_id', 'absent'), text, { maxKeys: 2 }),
    query: operation.requestBody ? fc.constant([]) : queryFor(operation),
    body: operation.requestBody ? bodyFor(operation) : fc.constant(undefined),
  });

it('the service answers every random request with a documented status below 500', async () => {
  const seen = new Set<string>();
  const any = fc.constantFrom(...operations).chain(requests);
  await fc.assert(
    fc.asyncProperty(any, async ({ operation, path, query, body }) => {
      const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      const known = Object.fromEntries(Object.entries(path).filter(([name]) => inPath.includes(name)));
      const [bare = ''] = targetOf(operation, known).split('?');
      const { status } = await call(harness, `${bare}?${new URLSearchParams(query).toString()}`, {
        token: partner.token,
        ...(operation.requestBody ? { json: body ?? null } : {}),
      });
      seen.add(`${operation.operationId} ${status}`);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 16 * operations.length, seed: 20_261_120 },
  );
  expect(harness.logged.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  // The run proves something only if it had both successes and refusals.
  const expected = [
    ...['issueToken 200', 'createPatient 201', 'createPatient 400', 'createEncounter 201', 'createEncounter 400'],
    ...['listClinics 200', 'listClinics 400', 'findPatients 400', 'listProducts 200', 'listProducts 400'],
    ...['getPatient 404', 'getEncounterStatus 400', 'uploadPatientDocument 400'],
  ];
  expect([...seen]).toEqual(expect.arrayContaining(expected));
});
