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

/** One record of each kind that an id can name. */
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
  /** The probe deletes this one. */
  readonly spareEndpointId: string;
  readonly delivery_id: string;
  /** A body that creates an encounter of these records. */
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

/** A request of an operation about a record. */
interface Probe {
  /** The rest of the request, made from the caller's own records. */
  readonly request: (own: Things) => Values;
  /** Every input that names a record, with that record; null if it belongs to no tenant. */
  readonly inputs: Readonly<Record<string, keyof Things | null>>;
}

/** Every operation with an id among its inputs, with all such inputs. */
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
    // tests/operations shows that tenants may use the same e-mail.
    inputs: { email: null, cityId: null, stateId: null, countryId: null, gfeStateId: null },
  },
  updatePatient: {
    request: () => ({ notes: 'x' }),
    // tests/operations shows that tenants may use the same e-mail.
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
    // clientId and operationId only filter rows of the own tenant.
    inputs: { patientId: 'patientId', clientId: null, operationId: null },
  },
  // operationId only filters requests of the own tenant.
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
    // A pharmacy belongs to no tenant.
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

/** Inputs whose format or name says that they name a record. */
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
    // All requests share it, so that answers can be compared byte for byte.
    headers: { ...requiredHeaders(operation), 'X-Request-Id': uuid },
    ...(bodySchema(operation) ? { json: part(false) } : {}),
  });
}

/** The whole answer except its time. */
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

/** The answer of the case about these records. */
const answerTo = ({ operation, probe, input, thing }: (typeof cases)[number], things: Things): Promise<Answer> =>
  ask(operation, probe, input, { [input]: things[thing] });

const titleOf = ({ operation, input }: (typeof cases)[number]): string => `${operation.operationId} by ${input}`;

it('the probes cover every input that names a record', () =>
  everyCase(
    securedOperations,
    ({ operationId }) => operationId,
    (operation) => {
      expect(Object.keys(probes[operation.operationId]?.inputs ?? {}).sort()).toEqual(namingInputs(operation).sort());
    },
  ));

it('every operation answers for a record of another tenant exactly as for an unknown one', () =>
  everyCase(cases, titleOf, async (probed) => {
    const [ofUnknown, ofOther] = [await answerTo(probed, unknown), await answerTo(probed, foreign)];
    expect(everything(ofOther)).toEqual(everything(ofUnknown));
  }));

it('every operation answers differently for a record of the caller, so the comparison above is meaningful', () =>
  everyCase(cases, titleOf, async (probed) => {
    const [ofUnknown, ofOwn] = [await answerTo(probed, unknown), await answerTo(probed, own)];
    expect(ofOwn.status < 500).toBe(true);
    expect([ofOwn.status, ofOwn.text]).not.toEqual([ofUnknown.status, ofUnknown.text]);
  }));

it('does not reveal by a second identifier which tenant has an encounter', async () => {
  const { token } = partner;
  const askWith = (other: Things): Promise<Answer> =>
    call(harness, 'POST /encounters/status', {
      token,
      json: { encounter_id: own.encounter_id, gfe_no: other.gfe_no },
      headers: { 'X-Request-Id': uuid },
    });
  expect(everything(await askWith(foreign))).toEqual(everything(await askWith(unknown)));
});
