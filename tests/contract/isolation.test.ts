import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import {
  requiredHeaders,
  securedOperations,
  targetOf,
  type ContractOperation,
  type Schema,
} from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { permissions } from '../../src/domain/access/permissions.js';
import {
  encounterBody,
  newClient,
  newClinic,
  newDocument,
  newEncounter,
  newPartner,
  shipTo,
  type Partner,
} from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { pay } from '../support/orders.js';
import { completedEncounter, noChartVersion } from '../support/reviews.js';
import { newWebhooks } from '../support/webhooks.js';

type Values = Readonly<Record<string, unknown>>;
/** One record of each kind that an id can name. */
type Records = Awaited<ReturnType<typeof newRecords>>;

const uuid = '01a05c32-5e80-7fff-bfff-ffffffffffff';
const unknown: Omit<Records, 'encounter'> = {
  clinicId: uuid,
  patientId: uuid,
  email: 'unknown@example.com',
  treatmentIds: [uuid],
  treatmentId: uuid,
  documentIds: [uuid],
  documentId: uuid,
  spareDocumentId: uuid,
  categoryId: uuid,
  encounter_id: 999_999_999,
  gfe_no: 'GFE-999999999',
  order_no: 'ORD-999999999',
  payment_id: uuid,
  pharmacyId: uuid,
  endpoint_id: uuid,
  spareEndpointId: uuid,
  openEncounterId: 999_999_999,
  delivery_id: uuid,
  // Not the id with which the cases are sent.
  request_id: '01a05c32-5e80-7fff-bfff-fffffffffffe',
};

/** The record that an input names, by input or by operation and input; null if the input names no record of a tenant. */
const namedBy: Readonly<Record<string, keyof typeof unknown | null>> = {
  ...(Object.fromEntries(Object.keys(unknown).map((name) => [name, name])) as { [K in keyof typeof unknown]: K }),
  id: 'patientId',
  'getClinic id': 'clinicId',
  'getProduct id': 'treatmentId',
  // Spare records, whose deletion or withdrawal does not break the other cases.
  'deleteWebhookEndpoint endpoint_id': 'spareEndpointId',
  // Only the treatments of an encounter in the queue can change.
  'updateEncounter encounter_id': 'openEncounterId',
  'withdrawDocument documentId': 'spareDocumentId',
  // tests/operations shows that tenants may use the same e-mail.
  'createPatient email': null,
  'updatePatient email': null,
  cityId: null,
  stateId: null,
  countryId: null,
  gfeStateId: null,
  // These only filter rows of the own tenant.
  clientId: null,
  operationId: null,
};

const ofClinic = ['clinicId', 'encounter_id', 'openEncounterId', 'gfe_no', 'order_no', 'payment_id'] as const;
const ofPatient = ['patientId', 'email', 'documentIds', 'documentId', 'spareDocumentId'] as const;

const item = { categoryId: uuid, subcategoryId: uuid };
const withEncounter = ({ encounter, documentIds }: Records): Values => ({ ...encounter, documentIds });
/** Inputs that an operation needs apart from its path, made from the caller's own records. */
const requests: Readonly<Record<string, (own: Records) => Values>> = {
  updatePatient: () => ({ notes: 'x' }),
  simulateVerification: () => ({ status: 'INVITED' }),
  uploadPatientDocument: () => ({ url: 'https://127.0.0.1/file.pdf' }),
  createEncounter: withEncounter,
  previewEncounter: withEncounter,
  claimEncounter: () => ({ reviewerRef: 'NPI-1' }),
  releaseEncounter: () => ({ reviewerRef: 'NPI-1' }),
  submitReview: () => ({
    reviewerRef: 'NPI-1',
    chartVersion: noChartVersion,
    decisions: [{ ...item, decision: 'approved' }],
  }),
  revokeApprovals: () => ({ reviewerRef: 'NPI-1', items: [item], reason: 'Audit.' }),
  getChart: () => ({ reviewerRef: 'NPI-1' }),
  getClearances: ({ clinicId, treatmentIds }) => ({ clinicId, treatmentIds }),
  getReviewOptions: ({ patientId, clinicId, treatmentIds }) => ({ patientId, clinicId, treatmentIds }),
  listRenewals: () => ({ expiring_before: '2999-01-01' }),
  withdrawDocument: () => ({ reason: 'illegible' }),
  addAddendum: () => ({ reviewerRef: 'NPI-1', text: 'Seen.' }),
  requestInformation: () => ({ reviewerRef: 'NPI-1', message: 'Which medication?' }),
  provideInformation: ({ documentIds }) => ({ documentIds }),
  updateEncounter: () => ({ reference: 'x' }),
  cancelEncounter: () => ({ reason: 'other' }),
  reorderTreatments: ({ treatmentIds }) => ({ treatmentIds }),
  cancelOrder: () => ({ reason: 'x' }),
  refundPayment: ({ payment_id }) => ({ payment_id, amount: '9999.00', reason: 'x' }),
  recordFulfilment: ({ pharmacyId }) => ({ pharmacyId, status: 'delivered' }),
  setShipTo: () => ({ ...shipTo }),
  recordPayment: () => ({ amount: '1.00' }),
  updateWebhookEndpoint: () => ({ description: 'x' }),
  replayWebhookEvents: () => ({ after: '2026-01-01T00:00:00Z' }),
  simulateEncounter: () => ({ outcome: 'claim' }),
};

const harness = await openHarness();
// Sandboxes have every operation.
const partner = await newPartner(harness, 'sandbox');
const own = await newRecords(partner);
const foreign = await newRecords(await newPartner(harness, 'sandbox'));
// Clients of the same tenant as `partner`, limited to clinics at which the patient has no encounter, and has one.
const [otherClinic, treatingClinic] = [await newClinic(harness, partner), await newClinic(harness, partner)];
const other = await newClient(harness, partner.tenantId, permissions, [otherClinic]);
const treating = await newClient(harness, partner.tenantId, permissions, [treatingClinic]);
await newEncounter(harness, partner, { ...own.encounter, clinicId: treatingClinic });
await addCheckpoints(harness.domain);

async function newRecords(owner: Partner) {
  const { tenantId } = owner;
  const encounter = await encounterBody(harness, owner);
  const { clinicId, patientId, treatmentIds } = encounter;
  const { encounter_id, gfe_no, order_no, gfe_data } = await completedEncounter(harness, owner, encounter);
  const paid = (await pay(harness, owner, order_no, { amount: '1.00' })).body;
  const { email } = await harness.domain.db.prisma.patient.findFirstOrThrow({ where: { tenantId, id: patientId } });
  const [documentId, spareDocumentId] = [
    await newDocument(harness, owner, patientId),
    await newDocument(harness, owner, patientId),
  ];
  return {
    clinicId,
    patientId,
    email,
    treatmentIds,
    treatmentId: treatmentIds[0] as string,
    documentIds: [documentId],
    documentId,
    spareDocumentId,
    categoryId: gfe_data[0].categoryId as string,
    encounter_id: encounter_id as number,
    openEncounterId: (await newEncounter(harness, owner, encounter)).encounter_id as number,
    gfe_no: gfe_no as string,
    order_no: order_no as string,
    payment_id: paid.payments[0].id as string,
    pharmacyId: paid.lines[0].pharmacyId as string,
    ...(await newWebhooks(harness, owner)),
    request_id: (await call(harness, 'GET /clinics', owner)).headers.get('X-Request-Id') ?? '',
    encounter,
  };
}

function recordOf({ operationId }: ContractOperation, input: string): keyof typeof unknown | null | undefined {
  const exception = `${operationId} ${input}`;
  return namedBy[exception in namedBy ? exception : input];
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

function ask(operation: ContractOperation, input: string, value: unknown, { token }: Partner): Promise<Answer> {
  const [inUrl, inBody]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  const { parameters, operationId } = operation;
  // Use the caller's records in the path, and no query; targetOf adds examples such as the type of a document.
  for (const { name, in: place } of parameters) {
    const record = recordOf(operation, name);
    if (place === 'query') inUrl[name] = undefined;
    else if (place === 'path' && record) inUrl[name] = own[record];
  }
  for (const [name, given] of Object.entries({ ...requests[operationId]?.(own), [input]: value })) {
    (parameters.some((parameter) => parameter.name === name) ? inUrl : inBody)[name] = given;
  }
  return call(harness, targetOf(operation, inUrl), {
    token,
    // All requests share one id, so that answers can be compared byte for byte.
    headers: { ...requiredHeaders(operation), 'X-Request-Id': uuid },
    ...(bodySchema(operation) ? { json: inBody } : {}),
  });
}

/** The whole answer except its time. */
function everything({ status, headers, text }: Answer): object {
  const { date, ...rest } = Object.fromEntries(headers);
  expect(date).toBeDefined();
  return { status, headers: rest, text };
}

const cases = securedOperations.flatMap((operation) =>
  namingInputs(operation).flatMap((input) => {
    const record = recordOf(operation, input);
    return record ? [{ operation, input, record }] : [];
  }),
);
type Case = (typeof cases)[number];

/** The answer of the case about these records to a caller. */
const answerTo = ({ operation, input, record }: Case, records: typeof unknown, caller = partner): Promise<Answer> =>
  ask(operation, input, records[record], caller);

const titleOf = ({ operation, input }: Case): string => `${operation.operationId} by ${input}`;

it('the isolation tests cover every input that identifies a record', () =>
  everyCase(
    securedOperations,
    ({ operationId }) => operationId,
    (operation) => {
      expect(namingInputs(operation).filter((input) => recordOf(operation, input) === undefined)).toEqual([]);
    },
  ));

it('every operation answers for a record of another tenant exactly as for an unknown one', () =>
  everyCase(cases, titleOf, async (probed) => {
    const [ofUnknown, ofOther] = [await answerTo(probed, unknown), await answerTo(probed, foreign)];
    expect(everything(ofOther)).toEqual(everything(ofUnknown));
  }));

it('every operation answers differently for a record of the caller than for an unknown one, so the isolation test is meaningful', () =>
  everyCase(cases, titleOf, async (probed) => {
    const [ofUnknown, ofOwn] = [await answerTo(probed, unknown), await answerTo(probed, own)];
    expect(ofOwn.status < 500).toBe(true);
    expect([ofOwn.status, ofOwn.text]).not.toEqual([ofUnknown.status, ofUnknown.text]);
  }));

it.each([
  ['other clinics, about a clinic, encounter, order, patient or document', other, [...ofClinic, ...ofPatient]],
  ['a clinic that treats the patient, about another clinic and its encounters and orders', treating, ofClinic],
] as const)(
  'every operation answers a client that is limited to %s by clinic_not_permitted or as about an unknown one',
  (_title, caller, kinds: readonly Case['record'][]) =>
    everyCase(
      // The cursor of the audit counts entries of other clients, which it does not show.
      cases.filter(({ operation, record }) => kinds.includes(record) && operation.operationId !== 'listAuditEvents'),
      titleOf,
      async (probed) => {
        const answer = await answerTo(probed, own, caller);
        if (answer.body?.code === 'clinic_not_permitted') return expect(answer.status).toBe(403);
        return expect(everything(answer)).toEqual(everything(await answerTo(probed, unknown, caller)));
      },
    ),
);

it('getEncounterStatus with two identifiers does not reveal that another tenant has the encounter', async () => {
  const { token } = partner;
  const askWith = (other: typeof unknown): Promise<Answer> =>
    call(harness, 'POST /encounters/status', {
      token,
      json: { encounter_id: own.encounter_id, gfe_no: other.gfe_no },
      headers: { 'X-Request-Id': uuid },
    });
  expect(everything(await askWith(foreign))).toEqual(everything(await askWith(unknown)));
});
