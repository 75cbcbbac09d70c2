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

  const withBody =
    (change: (json: EncounterBody) => Promise<object>) =>
    async ({ token, json }: Request): Promise<Request> => ({ token, json: { ...json, ...(await change(json)) } });
  const withTreatment = (make: (json: EncounterBody) => Promise<string>) =>
    withBody(async (json) => ({ treatmentIds: [...json.treatmentIds, await make(json)] }));
  const elsewhere = async () => [{ clinicId: await newClinic(harness, partner), isActive: true }];
  const skipped = { scheduledDay: '2027-03-14', scheduledTime: '02:30:00', scheduledTimeZone: 'America/New_York' };

  /** Each step breaks one rule of a request. The service checks the rules in this order. */
  const steps: [code: ProblemCode, status: number, rule: string, spoil: (request: Request) => Promise<Request>][] = [
    [
      'insufficient_permission',
      403,
      'permission',
      async ({ json }) => ({ json, token: await tokenWithout(harness, partner, 'write:encounter') }),
    ],
    ['validation_failed', 400, 'form', withBody(async () => ({ unknown: 1 }))],
    ['validation_failed', 400, 'spelling', withTreatment(async ({ treatmentIds: [id] }) => String(id).toUpperCase())],
    ['schedule_time_nonexistent', 400, 'schedule', withBody(async () => skipped)],
    ['treatment_not_found', 404, 'existence', withTreatment(async () => unknownId)],
    [
      'clinic_inactive',
      409,
      'clinic',
      withBody(async () => ({ clinicId: await newClinic(harness, partner, { isActive: false }) })),
    ],
    ['patient_inactive', 409, 'patient', withBody(async () => ({ patientId: await inactivePatient() }))],
    ['treatment_inactive', 409, 'treatment', withTreatment(() => newProduct(harness, partner, { isActive: false }))],
    [
      'treatment_unavailable_at_clinic',
      409,
      'availability',
      withTreatment(async () => newProduct(harness, partner, { availability: await elsewhere() })),
    ],
    [
      'document_patient_mismatch',
      409,
      'documents',
      withBody(async () => ({
        documentIds: [await newDocument(harness, partner, await newPatient(harness, partner))],
      })),
    ],
  ];

  it.each(steps)(
    'answers %s (%i, %s) even if the request breaks every later rule as well',
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
  it('reports every violation of the schema', async () => {
    const answer = await create({ treatmentIds: ['1', unknownId, '2'], reviewType: 'no', extra: 1 });
    expectProblem(answer, 400, 'validation_failed');
    const places = answer.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
    expect(places.sort()).toEqual([
      '#/clinicId required',
      '#/extra additionalProperties',
      '#/patientId required',
      '#/reviewType enum',
      '#/serviceQueue required',
      '#/treatmentIds/0 format',
      '#/treatmentIds/2 format',
    ]);
  });

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

  it('reports every inactive treatment', async () => {
    const inactive = () => newProduct(harness, partner, { isActive: false });
    const [first, last] = [await inactive(), await inactive()];
    const answer = await create({ ...valid, treatmentIds: [first, ...valid.treatmentIds, last] });
    const code = 'treatment_inactive';
    expectProblem(answer, 409, code, [
      { pointer: '#/treatmentIds/0', code },
      { pointer: '#/treatmentIds/2', code },
    ]);
  });

  it('reports every treatment that is unavailable at the clinic', async () => {
    const availability = [{ clinicId: valid.clinicId, isActive: false }];
    const unavailable = () => newProduct(harness, partner, { availability });
    const [first, last] = [await unavailable(), await unavailable()];
    const answer = await create({ ...valid, treatmentIds: [first, ...valid.treatmentIds, last] });
    const code = 'treatment_unavailable_at_clinic';
    expectProblem(answer, 409, code, [
      { pointer: '#/treatmentIds/0', code },
      { pointer: '#/treatmentIds/2', code },
    ]);
  });

  it('reports every document of another patient', async () => {
    const own = await newDocument(harness, partner, valid.patientId);
    const stranger = await newPatient(harness, partner);
    const [first, last] = [
      await newDocument(harness, partner, stranger),
      await newDocument(harness, partner, stranger),
    ];
    const answer = await create({ ...valid, documentIds: [first, own, last] });
    const code = 'document_patient_mismatch';
    expectProblem(answer, 409, code, [
      { pointer: '#/documentIds/0', code },
      { pointer: '#/documentIds/2', code },
    ]);
  });
});

describe('the availability of a treatment', () => {
  it.each([
    ['no entry', [], 201],
    ['an active entry here', [['here', true]], 201],
    [
      'active entries here and elsewhere',
      [
        ['elsewhere', true],
        ['here', true],
      ],
      201,
    ],
    ['an active entry elsewhere', [['elsewhere', true]], 409],
    ['an inactive entry here', [['here', false]], 409],
    [
      'an inactive entry here and an active one elsewhere',
      [
        ['here', false],
        ['elsewhere', true],
      ],
      409,
    ],
    ['an inactive entry elsewhere', [['elsewhere', false]], 409],
  ] as const)('decides whether createEncounter accepts it: %s (D-38)', async (_entries, entries, status) => {
    const elsewhere = await newClinic(harness, partner);
    const availability = entries.map(([place, isActive]) => ({
      clinicId: place === 'here' ? valid.clinicId : elsewhere,
      isActive,
    }));
    const treatmentIds = [await newProduct(harness, partner, { availability })];
    const answer = await create({ ...valid, treatmentIds });
    expect(answer.status).toBe(status);
    if (status === 409) expect(answer.body.code).toBe('treatment_unavailable_at_clinic');
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

  it('answers 404 to a clinic outside the client’s clinics, exactly as to an unknown id', async () => {
    const { token } = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    const patientId = await newPatient(harness, { ...partner, token });
    const ask = (clinicId: string) => create({ ...valid, patientId, clinicId }, token, { 'X-Request-Id': requestId });
    const [hidden, unknown] = [await ask(valid.clinicId), await ask(unknownId)];
    expectProblem(hidden, 404, 'clinic_not_found', [{ pointer: '#/clinicId' }]);
    expect(hidden.text).toBe(unknown.text);
  });

  it("answers 404 to another tenant's treatment that is available at a clinic of that tenant only", async () => {
    const treatmentIds = [
      await newProduct(harness, partner, { availability: [{ clinicId: valid.clinicId, isActive: true }] }),
    ];
    const answer = await create({ ...(await encounterBody(harness, other)), treatmentIds }, other.token);
    expectProblem(answer, 404, 'treatment_not_found');
  });
});
