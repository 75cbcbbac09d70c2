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

const nobody = '01a10caf-a4c0-7000-8000-00000000dead';

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

describe('the order of the checks', () => {
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

  /** Each breaks one more rule of a request; in the order in which the rules are checked. */
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
    ['treatment_not_found', 404, 'existence', withTreatment(async () => nobody)],
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
    'lets %s (%i, %s) answer before everything that is checked later',
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

  it('lets an unknown zone answer before an unknown clinic, and the clinic before the zone that it lacks', async () => {
    const schedule = { scheduledDay: '2027-03-14', scheduledTime: '12:00:00' };
    const strange = { ...valid, clinicId: nobody, ...schedule };
    expectProblem(await create({ ...strange, scheduledTimeZone: '+05:30' }), 400, 'schedule_time_zone_unknown');
    expectProblem(await create(strange), 404, 'clinic_not_found');
    const zoneless = await newClinic(harness, partner, { places: [] });
    const answer = await create({ ...valid, clinicId: zoneless, patientId: nobody, ...schedule });
    expectProblem(answer, 400, 'schedule_time_zone_required');
  });
});

describe('the faults of one check', () => {
  it('are all told: form', async () => {
    const answer = await create({ treatmentIds: ['1', nobody, '2'], reviewType: 'no', extra: 1 });
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

  it('are all told: what does not exist', async () => {
    const deleted = await newProduct(harness, partner, { isDeleted: true, isActive: false });
    const foreign = await newProduct(harness, other);
    const document = await newDocument(harness, partner, valid.patientId);
    const answer = await create({
      ...valid,
      clinicId: await newClinic(harness, other),
      patientId: await newPatient(harness, other),
      treatmentIds: [nobody, ...valid.treatmentIds, deleted, foreign],
      documentIds: [document, nobody],
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

  it('are all told: inactive treatments', async () => {
    const inactive = () => newProduct(harness, partner, { isActive: false });
    const [first, last] = [await inactive(), await inactive()];
    const answer = await create({ ...valid, treatmentIds: [first, ...valid.treatmentIds, last] });
    const code = 'treatment_inactive';
    expectProblem(answer, 409, code, [
      { pointer: '#/treatmentIds/0', code },
      { pointer: '#/treatmentIds/2', code },
    ]);
  });

  it('are all told: treatments that are not available', async () => {
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

  it('are all told: documents of others', async () => {
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

describe('a treatment', () => {
  it.each([
    ['everywhere when nothing is said', [], 201],
    ['here when it is said', [['here', true]], 201],
    [
      'here and elsewhere',
      [
        ['elsewhere', true],
        ['here', true],
      ],
      201,
    ],
    ['elsewhere only', [['elsewhere', true]], 409],
    ['not here any more', [['here', false]], 409],
    [
      'elsewhere, and not here any more',
      [
        ['here', false],
        ['elsewhere', true],
      ],
      409,
    ],
    ['nowhere any more', [['elsewhere', false]], 409],
  ] as const)('is available %s (D-38)', async (_where, entries, status) => {
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

describe("another tenant's", () => {
  const requestId = '01a10caf-a4c0-7000-8000-0000000000aa';

  it.each<[string, (id: string) => object, () => Promise<string>]>([
    ['clinic', (clinicId) => ({ clinicId }), () => newClinic(harness, other)],
    ['inactive clinic', (clinicId) => ({ clinicId }), () => newClinic(harness, other, { isActive: false })],
    [
      'clinic without a zone, when one is needed',
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
  ])('%s is answered like one that does not exist', async (_what, change, make) => {
    const before = await stored();
    const ask = (id: string) => create({ ...valid, ...change(id) }, partner.token, { 'X-Request-Id': requestId });
    const [foreign, unknown] = [await ask(await make()), await ask(nobody)];
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe(unknown.text);
    expect(await stored()).toBe(before);
  });

  it('clinic is how a client sees those that it is not limited to', async () => {
    const { token } = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    const patientId = await newPatient(harness, { ...partner, token });
    const ask = (clinicId: string) => create({ ...valid, patientId, clinicId }, token, { 'X-Request-Id': requestId });
    const [hidden, unknown] = [await ask(valid.clinicId), await ask(nobody)];
    expectProblem(hidden, 404, 'clinic_not_found', [{ pointer: '#/clinicId' }]);
    expect(hidden.text).toBe(unknown.text);
  });

  it('treatment does not lend its availability: an entry for a clinic counts in its own tenant only', async () => {
    const treatmentIds = [
      await newProduct(harness, partner, { availability: [{ clinicId: valid.clinicId, isActive: true }] }),
    ];
    const answer = await create({ ...(await encounterBody(harness, other)), treatmentIds }, other.token);
    expectProblem(answer, 404, 'treatment_not_found');
  });
});
