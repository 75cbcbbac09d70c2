import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import {
  requiredHeaders,
  securedOperations,
  targetOf,
  type ContractOperation,
  type Schema,
} from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { encounterBody, newDocument, newPartner, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { pay } from '../support/orders.js';
import { completedEncounter } from '../support/reviews.js';
import { newWebhooks, webhookProbes } from '../support/webhooks.js';

type Values = Readonly<Record<string, unknown>>;

/** One of each thing that an id can mean. */
interface Things {
  readonly clinicId: string;
  readonly patientId: string;
  readonly email: string;
  readonly treatmentIds: readonly string[];
  readonly documentIds: readonly string[];
  readonly categoryId: string;
  readonly encounter_id: number;
  readonly gfe_no: string;
  readonly order_no: string;
  readonly payment_id: string;
  readonly endpoint_id: string;
  /** One that is deleted. */
  readonly spareEndpointId: string;
  readonly delivery_id: string;
  /** What creates an encounter of them. */
  readonly encounter: Values;
}

const uuid = '01a05c32-5e80-7fff-bfff-ffffffffffff';
const unknown: Things = {
  clinicId: uuid,
  patientId: uuid,
  email: 'nobody@example.com',
  treatmentIds: [uuid],
  documentIds: [uuid],
  categoryId: uuid,
  encounter_id: 999_999_999,
  gfe_no: 'GFE-999999999',
  order_no: 'ORD-999999999',
  payment_id: uuid,
  endpoint_id: uuid,
  spareEndpointId: uuid,
  delivery_id: uuid,
  encounter: {},
};

/** How an operation is asked about a thing. */
interface Probe {
  /** The rest of the request, from the caller's own things. */
  readonly request: (own: Things) => Values;
  /** Every input that names a thing, with the thing; null where it is of no tenant. */
  readonly inputs: Readonly<Record<string, keyof Things | null>>;
}

/** Every operation with an id among its inputs must stand here, with all of them. */
const probes: Readonly<Record<string, Probe>> = {
  findPatients: { request: () => ({}), inputs: { email: 'email' } },
  getPatient: { request: () => ({}), inputs: { id: 'patientId' } },
  createPatient: {
    request: () => ({
      firstName: 'Jane',
      lastName: 'Miller',
      email: 'taken@example.com',
      dateOfBirth: '1990-06-30',
      countryCode: '+1',
      phone: '5125550142',
    }),
    // That the e-mail is free in each tenant shows in tests/operations.
    inputs: { email: null, cityId: null, stateId: null, countryId: null, gfeStateId: null },
  },
  updatePatient: {
    request: () => ({ notes: 'x' }),
    // That the e-mail is free in each tenant shows in tests/operations.
    inputs: { id: 'patientId', email: null, cityId: null, stateId: null, countryId: null, gfeStateId: null },
  },
  simulateVerification: { request: () => ({ status: 'INVITED' }), inputs: { id: 'patientId' } },
  uploadPatientDocument: { request: () => ({ url: 'https://127.0.0.1/file.pdf' }), inputs: { id: 'patientId' } },
  listProducts: {
    request: () => ({
      page: 1,
      limit: 20,
      search: undefined,
      isActive: undefined,
      categoryId: undefined,
      clinicId: undefined,
    }),
    inputs: { categoryId: 'categoryId', clinicId: 'clinicId' },
  },
  createEncounter: {
    request: ({ encounter, documentIds }) => ({ ...encounter, documentIds }),
    inputs: { clinicId: 'clinicId', patientId: 'patientId', treatmentIds: 'treatmentIds', documentIds: 'documentIds' },
  },
  previewEncounter: {
    request: ({ encounter, documentIds }) => ({ ...encounter, documentIds }),
    inputs: { clinicId: 'clinicId', patientId: 'patientId', treatmentIds: 'treatmentIds', documentIds: 'documentIds' },
  },
  listEncounters: {
    request: () => ({
      status: undefined,
      patientId: undefined,
      clinicId: undefined,
      created_after: undefined,
      cursor: undefined,
    }),
    inputs: { patientId: 'patientId', clinicId: 'clinicId' },
  },
  listAuditEvents: {
    request: () => ({ clientId: undefined, operationId: undefined, after: undefined }),
    // The others only leave rows of the own tenant out.
    inputs: { patientId: 'patientId', clientId: null, operationId: null },
  },
  // Only leaves requests of the own tenant out.
  listRequests: { request: () => ({}), inputs: { operationId: null } },
  getEncounter: { request: () => ({}), inputs: { encounter_id: 'encounter_id' } },
  claimEncounter: { request: () => ({ reviewerRef: 'NPI-1' }), inputs: { encounter_id: 'encounter_id' } },
  releaseEncounter: { request: () => ({ reviewerRef: 'NPI-1' }), inputs: { encounter_id: 'encounter_id' } },
  submitReview: {
    request: () => ({
      reviewerRef: 'NPI-1',
      decisions: [{ categoryId: uuid, subcategoryId: uuid, decision: 'approved' }],
    }),
    inputs: { encounter_id: 'encounter_id' },
  },
  revokeApprovals: {
    request: () => ({ reviewerRef: 'NPI-1', items: [{ categoryId: uuid, subcategoryId: uuid }], reason: 'Audit.' }),
    inputs: { encounter_id: 'encounter_id' },
  },
  getCertificate: { request: () => ({}), inputs: { encounter_id: 'encounter_id' } },
  getChart: { request: () => ({ reviewerRef: 'NPI-1' }), inputs: { encounter_id: 'encounter_id' } },
  addAddendum: {
    request: () => ({ reviewerRef: 'NPI-1', text: 'Seen.' }),
    inputs: { encounter_id: 'encounter_id' },
  },
  rescheduleEncounter: { request: () => ({}), inputs: { encounter_id: 'encounter_id' } },
  requestInformation: {
    request: () => ({ reviewerRef: 'NPI-1', message: 'Which medication?' }),
    inputs: { encounter_id: 'encounter_id' },
  },
  provideInformation: {
    request: ({ encounter_id, documentIds }) => ({ encounter_id, documentIds }),
    inputs: { encounter_id: 'encounter_id', documentIds: 'documentIds' },
  },
  cancelEncounter: { request: () => ({ reason: 'other' }), inputs: { encounter_id: 'encounter_id' } },
  getEncounterStatus: {
    request: () => ({}),
    inputs: { encounter_id: 'encounter_id', gfe_no: 'gfe_no', order_no: 'order_no' },
  },
  getOrder: { request: () => ({}), inputs: { order_no: 'order_no' } },
  listOrders: {
    request: () => ({
      status: undefined,
      pharmacyId: undefined,
      clinicId: undefined,
      created_after: undefined,
      cursor: undefined,
    }),
    // A pharmacy is of no tenant.
    inputs: { clinicId: 'clinicId', pharmacyId: null },
  },
  cancelOrder: { request: () => ({ reason: 'x' }), inputs: { order_no: 'order_no' } },
  refundPayment: {
    request: ({ order_no, payment_id }) => ({ order_no, payment_id, amount: '9999.00', reason: 'x' }),
    inputs: { order_no: 'order_no', payment_id: 'payment_id' },
  },
  recordFulfilment: {
    request: () => ({ pharmacyId: uuid, status: 'delivered' }),
    inputs: { order_no: 'order_no', pharmacyId: null },
  },
  recordPayment: { request: () => ({ amount: '1.00' }), inputs: { order_no: 'order_no' } },
  ...webhookProbes,
  simulateEncounter: { request: () => ({ outcome: 'claim' }), inputs: { encounter_id: 'encounter_id' } },
};

let harness: Harness;
let partner: Partner;
let own: Things;
let foreign: Things;
beforeAll(async () => {
  harness = await startHarness();
  // Sandboxes have every operation.
  partner = await newPartner(harness, 'sandbox');
  own = await newThings(partner);
  foreign = await newThings(await newPartner(harness, 'sandbox'));
  await addCheckpoints(harness.domain);
});
afterAll(() => harness.close());

async function newThings(owner: Partner): Promise<Things> {
  const { tenantId } = owner;
  const encounter = await encounterBody(harness, owner);
  const { clinicId, patientId, treatmentIds } = encounter;
  const { encounter_id, gfe_no, order_no, gfe_data } = await completedEncounter(harness, owner, encounter);
  const { email } = await harness.domain.db.prisma.patient.findFirstOrThrow({ where: { tenantId, id: patientId } });
  return {
    clinicId,
    patientId,
    email,
    treatmentIds,
    documentIds: [await newDocument(harness, owner, patientId)],
    categoryId: gfe_data[0].categoryId,
    encounter_id,
    gfe_no,
    order_no,
    payment_id: (await pay(harness, owner, order_no, { amount: '1.00' })).body.payments[0].id,
    ...(await newWebhooks(harness, owner)),
    encounter: { ...encounter },
  };
}

const bodySchema = ({ requestBody }: ContractOperation): Schema | undefined =>
  requestBody?.content['application/json']?.schema;

/** Inputs that name a thing: by their form, or by their name. */
function namingInputs(operation: ContractOperation): string[] {
  const inputs: [string, Schema][] = [
    ...operation.parameters.map(({ name, schema }): [string, Schema] => [name, schema]),
    ...Object.entries(bodySchema(operation)?.properties ?? {}),
  ];
  const naming = ({ format, items }: Schema): boolean =>
    ['uuid', 'email'].includes(format ?? '') || (items ? naming(items) : false);
  return inputs.filter(([name, schema]) => naming(schema) || /(_id|_no|[a-z]Ids?)$/.test(name)).map(([name]) => name);
}

function ask(operation: ContractOperation, probe: Probe, input: string, { [input]: thing }: Values): Promise<Answer> {
  const values = { ...probe.request(own), [input]: thing };
  const inUrl = new Set(operation.parameters.map(({ name }) => name));
  const part = (wanted: boolean): Values =>
    Object.fromEntries(Object.entries(values).filter(([name]) => inUrl.has(name) === wanted));
  return call(harness, targetOf(operation, part(true)), {
    token: partner.token,
    // The same for all answers, so that they can be compared byte for byte.
    headers: { ...requiredHeaders(operation), 'X-Request-Id': uuid },
    ...(bodySchema(operation) ? { json: part(false) } : {}),
  });
}

/** All of an answer but the time. */
function everything({ status, headers, text }: Answer): object {
  const { date, ...rest } = Object.fromEntries(headers);
  expect(date).toBeDefined();
  return { status, headers: rest, text };
}

const cases = securedOperations.flatMap((operation) => {
  const probe = probes[operation.operationId];
  return Object.entries(probe?.inputs ?? {}).flatMap(([input, thing]) =>
    probe && thing ? [{ operation, probe, input, thing }] : [],
  );
});

/** The response to a request about one of these things. */
const answerTo = ({ operation, probe, input, thing }: (typeof cases)[number], things: Things): Promise<Answer> =>
  ask(operation, probe, input, { [input]: things[thing] });

const titleOf = ({ operation, input }: (typeof cases)[number]): string => `${operation.operationId} by ${input}`;

it('everything that names a thing is looked at here', () =>
  everyCase(
    securedOperations,
    ({ operationId }) => operationId,
    (operation) => {
      expect(Object.keys(probes[operation.operationId]?.inputs ?? {}).sort()).toEqual(namingInputs(operation).sort());
    },
  ));

it('every operation answers for what another tenant has exactly as for what nobody has', () =>
  everyCase(cases, titleOf, async (one) => {
    const [ofNobody, ofOther] = [await answerTo(one, unknown), await answerTo(one, foreign)];
    expect(everything(ofOther)).toEqual(everything(ofNobody));
  }));

it('every operation answers otherwise for the tenant’s own, or the comparison would mean nothing', () =>
  everyCase(cases, titleOf, async (one) => {
    const [ofNobody, ofOwn] = [await answerTo(one, unknown), await answerTo(one, own)];
    expect(ofOwn.status < 500).toBe(true);
    expect([ofOwn.status, ofOwn.text]).not.toEqual([ofNobody.status, ofNobody.text]);
  }));

it('does not tell by a second identifier whose an encounter is', async () => {
  const { token } = partner;
  const askWith = (other: Things): Promise<Answer> =>
    call(harness, 'POST /encounters/status', {
      token,
      json: { encounter_id: own.encounter_id, gfe_no: other.gfe_no },
      headers: { 'X-Request-Id': uuid },
    });
  expect(everything(await askWith(foreign))).toEqual(everything(await askWith(unknown)));
});
