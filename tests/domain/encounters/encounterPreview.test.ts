import fc from 'fast-check';
import {
  encounterBody,
  newCategory,
  newClient,
  newClinic,
  newDocument,
  newPartner,
  newPatient,
  newProduct,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';

const unknownId = '01a10caf-a4c0-7000-8000-00000000dead';

let harness: Harness;
let partner: Partner;
/** A client that sees only one of the clinics. */
let limited: Partner;
let valid: EncounterBody;
/** Ids that a body may contain, the usual one first. */
let [clinics, patients, treatments, documents]: [string[], string[], string[], string[]] = [[], [], [], []];
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const other = await newPartner(harness);
  const { tenantId } = partner;
  valid = await encounterBody(harness, partner);
  const elsewhere = await newClinic(harness, partner, { places: [] });
  const inactivePatient = await newPatient(harness, partner);
  const inactiveClinic = await newClinic(harness, partner, { isActive: false });
  clinics = [valid.clinicId, elsewhere, inactiveClinic, await newClinic(harness, other), unknownId];
  const [neighbour, stranger] = [await newPatient(harness, partner), await newPatient(harness, other)];
  patients = [valid.patientId, neighbour, inactivePatient, stranger, unknownId];
  documents = await Promise.all([valid.patientId, neighbour].map((id) => newDocument(harness, partner, id)));
  documents.push(await newDocument(harness, other, stranger), unknownId);
  const where = { tenantId_id: { tenantId, id: inactivePatient } };
  await harness.domain.db.prisma.patient.update({ where, data: { accountIsActive: false } });
  const group = await newCategory(harness, partner);
  const products = [
    {},
    group,
    { ...group, price: '0.10' },
    { isRx: true },
    { isActive: false },
    { isDeleted: true },
    { availability: [{ clinicId: valid.clinicId, isActive: true }] },
    { availability: [{ clinicId: elsewhere, isActive: true }] },
    { availability: [{ clinicId: valid.clinicId, isActive: false }], isActive: false },
  ];
  treatments = await Promise.all(products.map((product) => newProduct(harness, partner, product)));
  treatments.push(await newProduct(harness, other), unknownId);
  limited = await newClient(harness, tenantId, undefined, [valid.clinicId]);
});
afterAll(() => harness.close());

/** Draws the usual value as often as all others together. */
const oneOf = (values: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(fc.constant(values[0] ?? ''), fc.constantFrom(...values));
const usually = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) });

const day = { scheduledDay: '2027-01-05' };
const schedules: readonly Record<string, string>[] = [
  day,
  { ...day, scheduledTime: '12:00:00' },
  { ...day, scheduledTime: '12:00:00', scheduledTimeZone: 'Asia/Tokyo' },
  { scheduledDay: '2027-03-14', scheduledTime: '02:30:00' },
  { scheduledDay: '2027-03-14', scheduledTime: '02:30:00', scheduledTimeZone: 'America/New_York' },
  { scheduledDay: '2011-12-30', scheduledTimeZone: 'Pacific/Apia' },
  { ...day, scheduledTimeZone: 'GMT+5' },
  { scheduledTime: '12:00:00' },
];

function requests() {
  const ids = (values: readonly string[]): fc.Arbitrary<string[]> =>
    fc.uniqueArray(oneOf(values), { minLength: 1, maxLength: 3 });
  const [usual = ''] = treatments;
  return fc.record({
    isLimited: usually(false, true),
    clinicId: oneOf(clinics),
    patientId: oneOf(patients),
    treatmentIds: fc.oneof(
      { weight: 9, arbitrary: ids(treatments) },
      { weight: 1, arbitrary: fc.constant([usual, usual.toUpperCase()]) },
    ),
    documentIds: fc.oneof(fc.constant<string[]>([]), ids(documents)),
    reviewType: fc.constantFrom('synchronous', 'asynchronous'),
    schedule: usually<Record<string, string>>({}, ...schedules),
    notes: usually<Record<string, string>>({}, { additionalNotes: 'New medication' }, { additionalNotes: ' ' }),
  });
}

/** The parts of a request that vary. */
type Request = ReturnType<typeof requests> extends fc.Arbitrary<infer Value> ? Value : never;

/** One request for each outcome, so that every run has them all. */
function examples(): readonly { readonly outcome: string; readonly request: Request }[] {
  const [clinicId = '', , inactiveClinic = ''] = clinics;
  const body = { clinicId, patientId: patients[0] ?? '', treatmentIds: treatments.slice(0, 1), documentIds: [] };
  const usual = { ...body, isLimited: false, reviewType: 'asynchronous' as const, schedule: {}, notes: {} };
  return [
    { outcome: '201 pending_review', request: usual },
    { outcome: '400', request: { ...usual, schedule: { scheduledTime: '12:00:00' } } },
    { outcome: '404', request: { ...usual, clinicId: unknownId } },
    { outcome: '409', request: { ...usual, clinicId: inactiveClinic } },
  ];
}

type Item = Record<string, unknown>;
/** An item without the properties that only a decision sets. */
function undecided({ decidedAt: _at, denialReason: _denied, revocationReason: _revoked, ...rest }: Item): Item {
  const { declinedTreatmentIds: _declined, validUntil: _end, rationale: _why, ...item } = rest;
  return item;
}

function agree(preview: Answer, created: Answer): void {
  if (preview.status !== 200) {
    const { code, errors } = preview.body;
    expect(created).toMatchObject({ status: preview.status, body: { code, errors } });
    return;
  }
  const { problems, estimate, scheduledAt, gfe_data } = preview.body;
  const [first] = problems;
  if (created.status === 201) {
    expect(problems).toEqual([]);
    expect(created.body).toMatchObject({ estimate, scheduledAt });
    expect(created.body.gfe_data.map(undecided)).toEqual(gfe_data);
  } else {
    expect(created).toMatchObject({ status: 409, body: { code: first.code } });
    expect(created.body.errors).toEqual(problems.filter(({ code }: { code: string }) => code === first.code));
  }
}

it('previewEncounter reports the problems that createEncounter answers, and predicts the record that it creates', async () => {
  const seen = new Set<string>();
  const given = examples();
  await fc.assert(
    fc.asyncProperty(requests(), async ({ isLimited, schedule, notes, ...body }) => {
      const { token } = isLimited ? limited : partner;
      const json = { ...body, serviceQueue: 'provider_network', ...schedule, ...notes };
      const preview = await call(harness, 'POST /encounters/preview', { token, json });
      const created = await call(harness, 'POST /encounters', { token, json });
      agree(preview, created);
      seen.add(created.status === 201 ? `201 ${created.body.status}` : String(created.status));
    }),
    { numRuns: 200, examples: given.map(({ request }): [Request] => [request]) },
  );
  expect([...seen].sort()).toEqual(given.map(({ outcome }) => outcome));
}, 60_000);
