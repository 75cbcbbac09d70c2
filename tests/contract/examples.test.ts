import { rotateSigningKeys } from '../../src/adapters/tokens/signingKeys.js';
import { watchAudit } from '../support/auditWatch.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { cast, claimTheVisit, readsFirst, resetCast, seedRestorableCast } from '../support/cast.js';
import {
  exampleBody,
  operationOf,
  operations,
  responseExamples,
  targetOf,
  type ContractOperation,
} from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { exampleRequests, sendExample, sendQuery } from '../support/exampleRequests.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { minted, reduced } from '../support/minted.js';
import { withoutDatabase } from '../support/refusals.js';
import { approve, deny, reviewed } from '../support/reviews.js';
import { receiveExample } from '../support/webhooks.js';

// A freshly reset sandbox takes every example request and gives every example response, apart from problems. Only generated
// values differ (support/minted.ts).

type Body = Readonly<Record<string, unknown>>;
type Occasion = () => Promise<Answer>;

const harness = await openHarness();
const partner = await seedRestorableCast(harness);
const audit = await watchAudit(harness);

const isRead = ({ operation }: { readonly operation: ContractOperation }): boolean => operation.method === 'GET';

const isSuccess = (status: number): boolean => status < 300;
const titleOf = ({ title }: { title: string }): string => title;

const none = {
  search: 'no such name',
  isActive: undefined,
  state: undefined,
  categoryId: undefined,
  clinicId: undefined,
};
const bySku = (search: string): Body => ({ ...none, search });
const by = (operationId: string, name: string) => (): Promise<Answer> =>
  sendExample(harness, partner, operationOf(operationId), name);
const ask = (operationId: string, changes?: Body): Occasion => {
  const operation = operationOf(operationId);
  const occasion = () => sendQuery(harness, partner, operation, changes);
  if (isRead({ operation })) reads.add(occasion);
  return occasion;
};
const twice = (send: Occasion) => (): Promise<Answer> => send().then(send);
/** The occasions that only read. */
const reads = new Set<Occasion | undefined>();

/** The cursor at the end of the audit. */
async function auditCursor(): Promise<string> {
  await addCheckpoints(harness.domain);
  const noRows = { patientId: cast.absent, clientId: undefined, operationId: undefined };
  const { body } = await ask('listAuditEvents', noRows)();
  await addCheckpoints(harness.domain);
  const all = { ...noRows, patientId: undefined, limit: 100, cursor: body.next_cursor };
  let page = await ask('listAuditEvents', all)();
  while (page.body.has_more) page = await ask('listAuditEvents', { ...all, cursor: page.body.next_cursor })();
  return page.body.next_cursor;
}

/** Denies Botox and moves the clock by a month, so that monthly approvals expire. */
async function denyBotoxAndWait(): Promise<void> {
  const { token } = partner;
  const target = `POST /sandbox/encounters/${cast.encounters.waiting.encounter_id}/simulate`;
  await call(harness, target, { token, json: { outcome: 'deny_all' } });
  await by('setClock', 'month')();
}

/** The requests behind examples of responses other than problems, apart from those that {@link occasionOf} finds. */
const occasions: Readonly<Record<string, Occasion>> = {
  'listClinics none': ask('listClinics', none),
  'findPatients none': ask('findPatients', { email: 'unknown@example.com' }),
  'listStates none': ask('listStates', { countryCode: 'AQ' }),
  'listReferenceData pharmacies': ask('listReferenceData', { list: 'pharmacies' }),
  'listProducts prescription': ask('listProducts', bySku('SEMA')),
  'listProducts limited_availability': ask('listProducts', bySku('LHR')),
  'listProducts none': ask('listProducts', none),
  'listEncounters some': ask('listEncounters', { cursor: undefined }),
  'listEncounters none': ask('listEncounters', { cursor: undefined, status: 'denied' }),
  'previewEncounter problems': by('previewEncounter', 'inactive'),
  'getEncounterStatus pending_review': by('getEncounterStatus', 'gfe_no'),
  'getEncounterStatus approved': by('getEncounterStatus', 'order_no'),
  'getEncounterStatus ended': async () => {
    await denyBotoxAndWait();
    return by('getEncounterStatus', 'order_no')();
  },
  'getEncounterStatus mixed': async () => {
    const { token } = partner;
    const { botox, semaglutide, glutathione } = cast.products;
    const wanted = exampleBody(operationOf('createEncounter'), 'minimal');
    const json = { ...wanted, treatmentIds: [botox, semaglutide, glutathione] };
    const created = (await call(harness, 'POST /encounters', { token, json })).body;
    const { encounter_id } = await reviewed(harness, partner, created, (item, index) =>
      (index < 2 ? approve : deny)(item, index),
    );
    await denyBotoxAndWait();
    return call(harness, 'POST /encounters/status', { token, json: { encounter_id } });
  },
  'getEncounter in_review': async () => {
    await claimTheVisit(harness, partner);
    return ask('getEncounter')();
  },
  'getEncounter awaiting_information': ask('getEncounter', { encounter_id: cast.encounters.asked.encounter_id }),
  'getEncounter declined_treatment': ask('getEncounter', { encounter_id: cast.encounters.held.encounter_id }),
  'getClearances not_cleared': ask('getClearances', {
    id: cast.noah.id,
    treatmentIds: [cast.products.semaglutide, cast.products.tirzepatide, cast.products.laser],
  }),
  'getReviewOptions refused': ask('getReviewOptions', { clinicId: cast.clinics.denver }),
  'listRenewals some': ask('listRenewals', { cursor: undefined }),
  'listRenewals none': ask('listRenewals', { cursor: undefined, expiring_before: '2026-12-01' }),
  'getCertificate certificate': async () => {
    const answer = await ask('getCertificate')();
    // The example shows only the first bytes.
    return { ...answer, body: answer.text.slice(0, 8) };
  },
  'getOrder paid': ask('getOrder', { order_no: cast.encounters.paid.order_no }),
  'getOrder pending': ask('getOrder'),
  'getOrder held': ask('getOrder', { order_no: cast.encounters.held.order_no }),
  'listOrders some': ask('listOrders', { cursor: undefined }),
  'listOrders held': ask('listOrders', {
    ...{ cursor: undefined, patientId: undefined, encounter_id: undefined },
    ...{ status: 'paid', held: true, fulfilment: undefined },
  }),
  'listReviewQueue waiting': ask('listReviewQueue', { reviewType: undefined }),
  'listPatientDocuments some': ask('listPatientDocuments', { cursor: undefined }),
  'listPatientDocuments none': ask('listPatientDocuments', { cursor: undefined, id: cast.noah.id }),
  'getDocument withdrawn': () => by('withdrawDocument', 'wrong_patient')().then(ask('getDocument')),
  'listOrders none': ask('listOrders', { cursor: undefined, status: 'refunded' }),
  'listEvents some': ask('listEvents', { encounter_id: undefined }),
  'listEvents none': async () => {
    const { body } = await ask('listEvents')();
    return ask('listEvents', { cursor: body.next_cursor })();
  },
  'createWebhookEndpoint replayed': twice(by('createWebhookEndpoint', 'orders')),
  'rotateWebhookSecret replayed': twice(ask('rotateWebhookSecret')),
  'listWebhookDeliveries some': ask('listWebhookDeliveries', { cursor: undefined }),
  'listWebhookDeliveries none': ask('listWebhookDeliveries', { cursor: undefined, status: 'waiting' }),
  'listWebhookInbox some': () => receiveExample(harness, partner).then(ask('listWebhookInbox')),
  'listAuditEvents some': async () => {
    const started = await auditCursor();
    const headers = { 'X-Request-Id': cast.requestId };
    await call(harness, targetOf(operationOf('getPatient')), { token: partner.token, headers });
    await addCheckpoints(harness.domain);
    return ask('listAuditEvents', { cursor: started })();
  },
  'listAuditEvents none': async () => ask('listAuditEvents', { cursor: await auditCursor() })(),
  'listRequests some': async () => {
    const json = { ...exampleBody(operationOf('createPatient')), email: cast.jane.email };
    await call(harness, 'POST /clients', { token: partner.token, json });
    await ask('findPatients')();
    return call(harness, 'GET /sandbox/requests?limit=2', partner);
  },
  'listRequests none': () => call(harness, 'GET /sandbox/requests?code=no_such_code', partner),
  'getRequest refused': async () => {
    const headers = { 'X-Request-Id': cast.requestId };
    await call(harness, 'GET /encounters/999999', { token: partner.token, headers });
    return ask('getRequest')();
  },
  'simulateEncounter completed': by('simulateEncounter', 'approve_and_pay'),
  'submitReview part_denied': by('submitReview', 'deny_one'),
  'getReadiness unavailable': () => withoutDatabase(harness, ask('getReadiness')),
  'getJwks two_keys': async () => {
    const { now, newId } = harness.domain;
    const { signingKeysFile: file, refreshTokenTtl: retireAfter } = harness.services.config;
    await rotateSigningKeys(file, { now: now(), newId, retireAfter, force: false });
    return ask('getJwks')();
  },
};

/** The named occasion, or else the request example of the same name, or the first one, or the parameters. */
function occasionOf(operationId: string, name: string): Occasion {
  const named = occasions[`${operationId} ${name}`];
  const shown = Object.keys(operationOf(operationId).requestBody?.content['application/json']?.examples ?? {});
  if (named || shown.length === 0) return named ?? ask(operationId);
  return by(operationId, shown.find((example) => example === name) ?? shown[0] ?? '');
}

it('each example request without a response example of its name succeeds', async () => {
  // The next test sends the request of a response with the same name.
  const answered = new Set(
    responseExamples.map(({ operationId, name }) => `${operationId}: ${name} as application/json`),
  );
  const others = exampleRequests(operations).filter(({ title }) => !answered.has(title));
  await everyCase(readsFirst(others, isRead), titleOf, async (request) => {
    if (!isRead(request)) await resetCast(harness, partner);
    const { status, text } = await request.send(harness, partner);
    expect({ status, text }).toMatchObject({ status: request.operation.statuses.find(isSuccess) });
  });
});

it('each response but problems equals its example in the contract, except generated values, and its audit row names every patient in it', async () => {
  const results = responseExamples.filter(
    ({ status, value }) => isSuccess(status) || !('code' in Object(value) || 'error' in Object(value)),
  );
  const answers = results.map((example) => ({
    ...example,
    occasion: occasionOf(example.operationId, example.name),
  }));
  const onlyReads = ({ occasion }: (typeof answers)[number]): boolean => reads.has(occasion);
  await resetCast(harness, partner);
  await everyCase(readsFirst(answers, onlyReads), titleOf, async ({ operationId, status, name, value, occasion }) => {
    if (!reads.has(occasion)) await resetCast(harness, partner);
    const answer = await occasion();
    expect(answer.status).toBe(status);
    const shown: unknown = JSON.parse(
      JSON.stringify(value).replaceAll('https://encounters.example.com', harness.baseUrl),
    );
    const own = minted[`${operationId} ${name}`] ?? minted[operationId];
    expect(reduced(answer.body, own)).toEqual(reduced(shown, own));
    const patients = [...answer.text.matchAll(/"(?:patientId|user_id|existing_user_id)":"([^"]+)"/g)].map(
      ([, id]) => id,
    );
    const where = { tenantId: partner.tenantId, requestId: answer.headers.get('X-Request-Id') };
    const row = await harness.domain.db.prisma.auditEvent.findFirst({ where });
    expect(row?.patientIds ?? []).toEqual(expect.arrayContaining(patients));
  });
});

it('all examples of responses name the same three patients', () => {
  const ids = new Set(JSON.stringify(responseExamples.map(({ value }) => value)).match(/"user_id":"[^"]+"/g));
  expect([...ids].sort()).toEqual([cast.jane, cast.noah, cast.maria].map(({ id }) => `"user_id":"${id}"`));
});

it('each example request of a known client writes one audit row before its response', () => audit.expectOneRowEach());
