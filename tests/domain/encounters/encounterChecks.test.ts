import type { ProblemCode } from '../../../src/contract.js';
import {
  encounterBody,
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
import { call } from '../../support/http.js';
import { expectProblem, tokenWithout } from '../../support/refusals.js';

const unknownId = '01a10caf-a4c0-7000-8000-00000000dead';

let harness: Harness;
let partner: Partner;
let other: Partner;
let valid: EncounterBody;
beforeAll(async () => {
  harness = await startHarness();
  [partner, other] = [await newPartner(harness), await newPartner(harness)];
  valid = await encounterBody(harness, partner);
});
afterAll(() => harness.close());

const create = (json: object, token = partner.token, headers = {}) =>
  call(harness, 'POST /encounters', { token, json, headers });
const stored = () => harness.domain.db.prisma.encounter.count({ where: { tenantId: partner.tenantId } });

async function inactivePatient(): Promise<string> {
  const id = await newPatient(harness, partner);
  await harness.domain.db.prisma.patient.updateMany({
    where: { tenantId: partner.tenantId, id },
    data: { accountIsActive: false },
  });
  return id;
}

describe('the order of the checks in createEncounter', () => {
  interface Request {
    readonly token: string;
    readonly json: EncounterBody;
  }
  type Step = [code: ProblemCode, status: number, rule: string, spoil: (request: Request) => Promise<Request>];

  const withBody =
    (change: (json: EncounterBody) => Promise<object>) =>
    async ({ token, json }: Request): Promise<Request> => ({ token, json: { ...json, ...(await change(json)) } });
  const withTreatment = (make: (json: EncounterBody) => Promise<string>) =>
    withBody(async (json) => ({ treatmentIds: [...json.treatmentIds, await make(json)] }));
  const withValue = (name: string, make: () => Promise<unknown>) => withBody(async () => ({ [name]: await make() }));
  const inactive = { isActive: false };
  const skipped = { scheduledDay: '2027-03-14', scheduledTime: '02:30:00', scheduledTimeZone: 'America/New_York' };
  const lackPermission = async ({ json }: Request) => {
    return { json, token: await tokenWithout(harness, partner, 'write:encounter') };
  };
  const withdrawnDocument = async ({
    patientId,
    documentIds = [],
  }: EncounterBody & { readonly documentIds?: readonly string[] }) => {
    const id = await newDocument(harness, partner, patientId);
    const withdrawal = { token: partner.token, json: { reason: 'illegible' } };
    await call(harness, `POST /documents/${id}/withdraw`, withdrawal);
    return { documentIds: [...documentIds, id] };
  };
  const newForeignDocument = async () => newDocument(harness, partner, await newPatient(harness, partner));
  const newTreatmentElsewhere = async () =>
    newProduct(harness, partner, { availability: [{ clinicId: await newClinic(harness, partner), isActive: true }] });

  /** Each step breaks one rule of a request. The service checks the rules in this order. */
  const steps: Step[] = [
    ['insufficient_permission', 403, 'permission', lackPermission],
    ['validation_failed', 400, 'form', withValue('unknown', async () => 1)],
    ['validation_failed', 400, 'spelling', withTreatment(async ({ treatmentIds: [id] }) => String(id).toUpperCase())],
    ['schedule_time_nonexistent', 400, 'schedule', withBody(async () => skipped)],
    ['treatment_not_found', 404, 'existence', withTreatment(async () => unknownId)],
    ['clinic_inactive', 409, 'clinic', withValue('clinicId', () => newClinic(harness, partner, inactive))],
    ['patient_inactive', 409, 'patient', withValue('patientId', inactivePatient)],
    ['treatment_inactive', 409, 'treatment', withTreatment(() => newProduct(harness, partner, inactive))],
    ['treatment_unavailable_at_clinic', 409, 'availability', withTreatment(newTreatmentElsewhere)],
    ['treatment_not_permitted', 409, 'age', withTreatment(() => newProduct(harness, partner, { minAge: 100 }))],
    ['document_patient_mismatch', 409, 'documents', withValue('documentIds', async () => [await newForeignDocument()])],
    ['document_withdrawn', 409, 'withdrawal', withBody(withdrawnDocument)],
  ];

  it.each(steps)(
    'answers %s (%i, check of %s) even if the request violates every later rule as well',
    async (code, status, _rule, spoil) => {
      const before = await stored();
      const mine = steps.findIndex(([, , , other]) => other === spoil);
      const spoilt = await spoil({ token: partner.token, json: valid });
      const worse = await Promise.all(steps.slice(mine + 1).map(([, , , later]) => later(spoilt)));
      for (const { token, json } of [spoilt, ...worse]) expectProblem(await create(json, token), status, code);
      expectProblem(await create(spoilt.json, 'garbage'), 401, 'token_invalid');
      expect(await stored()).toBe(before);
    },
  );

  it('reports an unknown zone before an unknown clinic, and a missing zone before an unknown patient', async () => {
    const schedule = { scheduledDay: '2027-03-14', scheduledTime: '12:00:00' };
    const unknownClinic = { ...valid, clinicId: unknownId, ...schedule };
    expectProblem(await create({ ...unknownClinic, scheduledTimeZone: '+05:30' }), 400, 'schedule_time_zone_unknown');
    expectProblem(await create(unknownClinic), 404, 'clinic_not_found');
    const zoneless = await newClinic(harness, partner, { places: [] });
    const answer = await create({ ...valid, clinicId: zoneless, patientId: unknownId, ...schedule });
    expectProblem(answer, 400, 'schedule_time_zone_required');
  });
});

describe('the errors of one check in createEncounter', () => {
  it('reports every reference to a record that does not exist', async () => {
    const deleted = await newProduct(harness, partner, { isDeleted: true, isActive: false });
    const foreign = await newProduct(harness, other);
    const document = await newDocument(harness, partner, valid.patientId);
    const answer = await create({
      ...valid,
      clinicId: await newClinic(harness, other),
      patientId: await newPatient(harness, other),
      treatmentIds: [unknownId, ...valid.treatmentIds, deleted, foreign],
      documentIds: [document, unknownId],
    });
    expectProblem(answer, 404, 'clinic_not_found', [
      { pointer: '#/clinicId', code: 'clinic_not_found' },
      { pointer: '#/patientId', code: 'patient_not_found' },
      { pointer: '#/treatmentIds/0', code: 'treatment_not_found' },
      { pointer: '#/treatmentIds/2', code: 'treatment_not_found' },
      { pointer: '#/treatmentIds/3', code: 'treatment_not_found' },
      { pointer: '#/documentIds/1', code: 'document_not_found' },
    ]);
  });

  it.each<[ProblemCode, () => Promise<string>]>([
    ['treatment_inactive', () => newProduct(harness, partner, { isActive: false })],
    [
      'treatment_unavailable_at_clinic',
      () => newProduct(harness, partner, { availability: [{ clinicId: valid.clinicId, isActive: false }] }),
    ],
  ])('reports every treatment with %s', async (code, make) => {
    const answer = await create({ ...valid, treatmentIds: [await make(), ...valid.treatmentIds, await make()] });
    const pointers = ['#/treatmentIds/0', '#/treatmentIds/2'];
    expectProblem(
      answer,
      409,
      code,
      pointers.map((pointer) => ({ pointer, code })),
    );
  });

  it('reports every document of another patient', async () => {
    const stranger = await newPatient(harness, partner);
    const documentIds = [];
    for (const id of [stranger, valid.patientId, stranger]) documentIds.push(await newDocument(harness, partner, id));
    const answer = await create({ ...valid, documentIds });
    const code = 'document_patient_mismatch';
    const pointers = ['#/documentIds/0', '#/documentIds/2'];
    expectProblem(
      answer,
      409,
      code,
      pointers.map((pointer) => ({ pointer, code })),
    );
  });
});

describe('the availability of a treatment', () => {
  it.each([
    [201, 'no entry', {}],
    [201, 'an active entry here', { here: true }],
    [201, 'active entries here and elsewhere', { elsewhere: true, here: true }],
    [409, 'an active entry elsewhere', { elsewhere: true }],
    [409, 'an inactive entry here', { here: false }],
    [409, 'an inactive entry here and an active one elsewhere', { here: false, elsewhere: true }],
    [409, 'an inactive entry elsewhere', { elsewhere: false }],
  ] as const)('makes createEncounter answer %i for %s (R-25)', async (status, _entries, entries) => {
    const clinics = { here: valid.clinicId, elsewhere: await newClinic(harness, partner) };
    const availability = Object.entries(entries).map(([name, isActive]) => ({
      clinicId: clinics[name as keyof typeof clinics],
      isActive,
    }));
    const answer = await create({ ...valid, treatmentIds: [await newProduct(harness, partner, { availability })] });
    expect([answer.status, answer.body.code]).toEqual([
      status,
      status === 201 ? undefined : 'treatment_unavailable_at_clinic',
    ]);
  });
});

describe('references to records that the caller cannot see', () => {
  const requestId = '01a10caf-a4c0-7000-8000-0000000000aa';

  it.each<[string, (id: string) => object, () => Promise<string>]>([
    ['clinic', (clinicId) => ({ clinicId }), () => newClinic(harness, other)],
    ['inactive clinic', (clinicId) => ({ clinicId }), () => newClinic(harness, other, { isActive: false })],
    [
      'clinic without a time zone, when the schedule needs one',
      (clinicId) => ({ clinicId, scheduledDay: '2027-01-05', scheduledTime: '12:00:00' }),
      () => newClinic(harness, other, { places: [] }),
    ],
    ['patient', (patientId) => ({ patientId }), () => newPatient(harness, other)],
    ['treatment', (id) => ({ treatmentIds: [id] }), () => newProduct(harness, other)],
    [
      'treatment that is restricted to a clinic',
      (id) => ({ treatmentIds: [id] }),
      async () =>
        newProduct(harness, other, { availability: [{ clinicId: await newClinic(harness, other), isActive: true }] }),
    ],
    [
      'document',
      (id) => ({ documentIds: [id] }),
      async () => newDocument(harness, other, await newPatient(harness, other)),
    ],
  ])("answers 404 to another tenant's %s, exactly as to an unknown id", async (_record, change, make) => {
    const before = await stored();
    const ask = (id: string) => create({ ...valid, ...change(id) }, partner.token, { 'X-Request-Id': requestId });
    const [foreign, unknown] = [await ask(await make()), await ask(unknownId)];
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe(unknown.text);
    expect(await stored()).toBe(before);
  });

  it('answers 404 to a clinic that the client is not limited to, exactly as to an unknown id', async () => {
    const { token } = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    const patientId = await newPatient(harness, { ...partner, token });
    const ask = (clinicId: string) => create({ ...valid, patientId, clinicId }, token, { 'X-Request-Id': requestId });
    const [hidden, unknown] = [await ask(valid.clinicId), await ask(unknownId)];
    expectProblem(hidden, 404, 'clinic_not_found', [{ pointer: '#/clinicId' }]);
    expect(hidden.text).toBe(unknown.text);
  });
});
