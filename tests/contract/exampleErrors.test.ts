import type { Permission } from '../../src/contract.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { watchAudit, type AuditWatch } from '../support/auditWatch.js';
import { addMaria, cast, claimTheVisit, resetCast, seedRestorableCast } from '../support/cast.js';
import { castChanges } from '../support/castChanges.js';
import {
  exampleBody,
  failureExamples,
  operationOf,
  operations,
  requiredHeaders,
  targetOf,
  type ContractOperation,
} from '../support/contract.js';
import { provokedByDocuments } from '../support/documents.js';
import { everyCase } from '../support/everyCase.js';
import { newClient, newPartner, type Partner } from '../support/factories.js';
import { eicar, startFakeClamd, type FakeClamd } from '../support/fakeClamd.js';
import { sampleFiles, startFileHost, type Answer as File, type FileHost } from '../support/fileHost.js';
import { provokedByFullRecords } from '../support/fullRecords.js';
import { provokedByShipments } from '../support/shipments.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, jsonType, type Answer } from '../support/http.js';
import { behindTwins, takeKey } from '../support/keyTwins.js';
import { secondOfTwo } from '../support/limits.js';
import { oncePerName } from '../support/oncePerName.js';
import {
  type After,
  type Answers,
  type Body,
  expectProvoked,
  type Provocation,
  type Send,
  together,
  whileChanged,
} from '../support/provoked.js';
import { whileAnotherResets } from '../support/sandbox.js';
import { newEndpoints } from '../support/webhooks.js';
import { neededTables, unauthenticated, withoutDatabase, withoutTable, withoutTables } from '../support/refusals.js';

// Provokes every failure that the contract shows, in a sandbox that holds the records of the examples.

let harness: Harness;
let fileHost: FileHost;
let clamd: FakeClamd;
let partner: Partner;
let audit: AuditWatch;
beforeAll(async () => {
  fileHost = await startFileHost();
  clamd = await startFakeClamd();
  harness = await startHarness({
    environment: {
      DOCUMENT_FETCH_ALLOWED_HOSTS: fileHost.host,
      DOCUMENT_SCANNER: 'clamav',
      CLAMAV_ADDRESS: clamd.setting,
      // A sandbox gets an eighth of the pool, and the keyed operations all wait at once.
      DATABASE_POOL_SIZE: String(8 * operations.filter(isKeyed).length),
    },
  });
  partner = await seedRestorableCast(harness);
  await addMaria(harness);
  audit = await watchAudit(harness);
});
afterAll(() => Promise.all([fileHost.close(), clamd.close(), harness.close()]));
/** Sends the example request with changes, and the request id of all examples. */
const send: Send = (operation, { query, body, headers, ...options } = {}) => {
  const json =
    operation.requestBody && options.raw === undefined ? { json: { ...exampleBody(operation), ...body } } : {};
  return call(harness, targetOf(operation, query), {
    token: partner.token,
    ...json,
    ...options,
    headers: { ...requiredHeaders(operation), ...headers, 'X-Request-Id': cast.requestId },
  });
};

const { tenantId, apiClientId, absent } = cast;
const KEY = 'Idempotency-Key';
const withKey = (operation: ContractOperation, key: string): Promise<Answer> =>
  send(operation, { headers: { [KEY]: key } });
const isKeyed = ({ parameters }: ContractOperation): boolean => parameters.some(({ name }) => name === KEY);

/** The answers of these operations, or of all, while a part of the service fails. */
const whileFailing = (
  failing: (ask: () => Promise<Answers>) => Promise<Answers>,
  asked: readonly ContractOperation[] = operations,
): Provocation =>
  together(() =>
    failing(async () => {
      const answers = asked.map(async (operation) => [operation.operationId, await send(operation)] as const);
      return new Map(await Promise.all(answers));
    }),
  );

const tokenOnce = oncePerName<string | undefined>();
/** A token of a new client of the tenant, made once for each name. */
const tokenOf = (name: string, ...granted: [readonly Permission[], string[]?]): Promise<string | undefined> =>
  tokenOnce(name, async () => (await newClient(harness, tenantId, ...granted)).token);

/** Makes the authentication fail: the client of a new token is not cached, and its table is missing. */
const withoutClients: Provocation = async (operation) => {
  const token = await tokenOf(`not read yet by ${operation.operationId}`, permissions);
  return withoutTable(harness, 'api_client', () => send(operation, { token }));
};

/** Provokes after a change to the records, and resets them afterwards. */
const after: After = (change, provoke) =>
  whileChanged(change, () => resetCast(harness, partner).then(() => addMaria(harness)), provoke);

const payEverything = (): Promise<Answer> => {
  const options = { token: partner.token, json: { amount: '554.00' }, headers: { [KEY]: 'everything' } };
  return call(harness, `POST /orders/${completed.order_no}/payments`, options);
};
const upload = operationOf('uploadPatientDocument');
const refundEverything = (): Promise<Answer> =>
  send(operationOf('refundPayment'), { body: { amount: '299.00' }, headers: { [KEY]: 'everything' } });
const disableWebhook = (): Promise<Answer> => send(operationOf('updateWebhookEndpoint'));
const { scheduled, completed, claimed, waiting } = cast.encounters;
const about = ({ encounter_id }: { encounter_id: number }): Provocation => withQuery({ encounter_id });
/** Sends the example request with changes that are made when it is sent. */
const sending =
  (changes: (operation: ContractOperation) => Parameters<typeof send>[1]): Provocation =>
  (operation) =>
    send(operation, changes(operation));
const withBody = (body: Body): Provocation => sending(() => ({ body }));
const withQuery = (query: Body): Provocation => sending(() => ({ query }));
const withMember = (member: Body): Provocation =>
  sending(({ requestBody }) => (requestBody ? { body: member } : { query: member }));
const delivering = (file: File): Provocation =>
  sending(() => ({ body: { url: fileHost.serve('/file.pdf', file), fileName: undefined } }));
const delivered = (content: Uint8Array, type: string): Provocation =>
  delivering({ content, headers: { 'Content-Type': type } });

/** Sends a refused token that gets this code. */
const withTokenOf =
  (wanted: string): Provocation =>
  async (operation) => {
    const [, makeToken] = unauthenticated.find(([, , code]) => code === wanted) ?? [];
    return send(operation, { token: await tokenOnce(wanted, async () => makeToken?.(harness, partner)) });
  };

const { jane, child, guarded, adult, licensed, zone, austin, onlyLive, active } = castChanges(() => harness);
/** Sends a review of the chart as it is. */
const withPresentChart: Provocation = async (operation) => {
  const { chartVersion } = (await send(operationOf('getChart'))).body;
  return send(operation, { body: { chartVersion } });
};
const issueToken = operationOf('issueToken');

/** Provokes each failure: of any operation by its code, or of one operation by `<operationId> <code>`. */
const provocations: Readonly<Record<string, Provocation>> = {
  token_missing: withTokenOf('token_missing'),
  token_invalid: withTokenOf('token_invalid'),
  token_expired: withTokenOf('token_expired'),
  client_inactive: withTokenOf('client_inactive'),
  insufficient_permission: async (operation) => {
    const held = permissions.filter((permission) => !operation.scopes.includes(permission));
    return send(operation, { token: await tokenOf(`all but ${operation.scopes.join(' ')}`, held) });
  },
  validation_failed: (operation) =>
    send(operation, operation.requestBody ? { body: { comment: '' } } : { query: { verbose: 1 } }),
  malformed_json: sending(() => ({ raw: '{', headers: jsonType })),
  content_type_not_json: sending(() => ({ raw: '{}', headers: { 'Content-Type': 'text/plain' } })),
  body_too_large: sending(() => ({ raw: ' '.repeat(256 * 1024 + 1), headers: jsonType })),
  internal_error: whileFailing(
    (ask) => withoutTables(harness, neededTables, ask),
    operations.filter(({ operationId }) => operationId !== 'setClock'),
  ),
  'setClock internal_error': whileFailing((ask) => withoutTable(harness, 'tenant', ask), [operationOf('setClock')]),
  'getClock internal_error': whileFailing((ask) => withoutTable(harness, 'tenant', ask), [operationOf('getClock')]),
  'listDeaSchedules internal_error': withoutClients,
  'listReferenceData internal_error': withoutClients,
  'listRequests internal_error': withoutClients,
  'issueToken internal_error': whileFailing((ask) => withoutTable(harness, 'api_client', ask), [issueToken]),
  dependency_unavailable: whileFailing((ask) => withoutDatabase(harness, ask)),
  rate_limited: (operation) => secondOfTwo(harness, (query) => send(operation, { query })),
  'verifyCertificate rate_limited': (operation) => secondOfTwo(harness, () => send(operation)),
  'issueToken temporarily_unavailable': (operation) => secondOfTwo(harness, () => send(operation)),
  'issueToken invalid_request': withBody({ client_secret: undefined }),
  'issueToken unsupported_grant_type': withBody({ grant_type: 'password' }),
  'issueToken invalid_scope': withBody({ scope: 'read:everything' }),
  'issueToken invalid_client': withBody({ client_secret: 'wrong' }),
  // The refresh token of the example is unknown to the service.
  'issueToken invalid_grant': (operation) => send(operation, { body: exampleBody(operation, 'refresh_token') }),
  patient_email_taken: withBody({ email: cast.jane.email }),
  'updatePatient patient_email_taken': sending(() => ({
    query: { id: cast.noah.id },
    body: { email: cast.jane.email },
  })),
  'getClinic clinic_not_found': withQuery({ id: absent }),
  'getProduct treatment_not_found': withQuery({ id: absent }),
  'getReviewOptions patient_not_found': withQuery({ patientId: absent }),
  patient_access_denied: withQuery({ id: absent }),
  document_url_invalid: withBody({ url: 'files.northwind.example/forms' }),
  document_url_forbidden: withBody({ url: 'https://127.0.0.1/file.pdf' }),
  document_fetch_failed: delivering((_req, res) => res.writeHead(404).end()),
  document_empty: delivered(new Uint8Array(), 'application/pdf'),
  document_too_large: delivering((_req, res) => res.writeHead(200, { 'Content-Length': 21 * 1024 ** 2 }).end()),
  document_type_not_allowed: delivered(Buffer.from('GIF89a.............'), 'image/gif'),
  document_type_mismatch: delivered(sampleFiles.png, 'application/pdf'),
  document_rejected: delivered(Buffer.from(`%PDF-1.4\n${eicar}\n%%EOF\n`), 'application/pdf'),
  clinic_not_found: withMember({ clinicId: absent }),
  patient_not_found: (each) =>
    send(each, targetOf(each).includes('/clients/') ? { query: { id: absent } } : { body: { patientId: absent } }),
  treatment_not_found: withMember({ treatmentIds: [cast.products.botox, absent] }),
  'updateEncounter clinic_inactive': whileChanged(austin(false), austin(true), withBody({})),
  clinic_inactive: withBody({ clinicId: cast.clinics.denver }),
  patient_inactive: whileChanged(active(false), active(true), withBody({})),
  treatment_inactive: withBody({ treatmentIds: [cast.products.vitaminB12] }),
  treatment_unavailable_at_clinic: withBody({ treatmentIds: [cast.products.laser] }),
  treatment_not_permitted: whileChanged(jane(guarded), adult, withBody({ treatmentIds: [cast.products.semaglutide] })),
  guardian_required: whileChanged(jane(child), adult, withBody({})),
  schedule_incomplete: withBody({ scheduledDay: undefined, scheduledTimeZone: undefined }),
  schedule_time_zone_unknown: withBody({ scheduledTimeZone: 'CDT+05:00' }),
  schedule_time_nonexistent: withBody({ scheduledDay: '2027-03-14', scheduledTime: '02:30:00' }),
  schedule_time_zone_required: whileChanged(
    zone(null),
    zone('America/Chicago'),
    withBody({ scheduledTimeZone: undefined }),
  ),
  identifier_required: sending(() => ({ raw: '{}', headers: jsonType })),
  identifier_mismatch: withBody({ gfe_no: waiting.gfe_no }),
  'getEncounterStatus encounter_not_found': withBody({ encounter_id: 999_999 }),
  encounter_not_found: withQuery({ encounter_id: 999_999 }),
  order_not_found: withQuery({ order_no: 'ORD-999999' }),
  certificate_not_found: withQuery({ code: `${cast.tenantId}.${absent}` }),
  cursor_invalid: withQuery({ cursor: 'bm9uc2Vuc2U' }),
  webhook_endpoint_not_found: withQuery({ endpoint_id: absent }),
  ...{ delivery_not_found: withQuery({ delivery_id: absent }), request_not_found: withQuery({ request_id: absent }) },
  webhook_url_forbidden: withBody({ url: 'https://127.0.0.1/hook' }),
  webhook_limit_reached: after(() => newEndpoints(harness, partner, 5), withBody({})),
  idempotency_key_required: (operation) => {
    const headers = { 'X-Request-Id': cast.requestId };
    return call(harness, targetOf(operation), { token: partner.token, json: exampleBody(operation), headers });
  },
  idempotency_key_invalid: (operation) => withKey(operation, 'schlüssel'),
  idempotency_key_reused: async (operation) => {
    const key = `of another ${operation.operationId}`;
    await takeKey(harness.domain.db.prisma, { tenantId, apiClientId, operationId: operation.operationId, key });
    return withKey(operation, key);
  },
  idempotency_in_progress: together(() =>
    behindTwins(harness, { tenantId, apiClientId }, operations.filter(isKeyed), withKey),
  ),
  invalid_state: about(completed),
  'reorderTreatments invalid_state': about(waiting),
  'pingWebhookEndpoint invalid_state': after(disableWebhook, withBody({})),
  'retryWebhookDelivery invalid_state': after(disableWebhook, withBody({})),
  'replayWebhookEvents invalid_state': after(disableWebhook, withBody({})),
  'revokeApprovals invalid_state': after(() => send(operationOf('revokeApprovals')), withBody({})),
  'simulateVerification invalid_state': withQuery({ id: cast.jane.id }),
  'recordPayment invalid_state': after(payEverything, withBody({})),
  'addAddendum invalid_state': about(waiting),
  'getCertificate invalid_state': about(waiting),
  version_conflict: sending(() => ({ headers: { 'If-Match': '"0"' } })),
  // The reset removes Maria, Jane's duplicate, and the upload adds a document.
  chart_changed: after(() => resetCast(harness, partner).then(() => send(upload)), withBody({})),
  provider_not_licensed: whileChanged(licensed(true), licensed(false), withBody({})),
  'submitReview provider_not_licensed': whileChanged(licensed(true), licensed(false), withPresentChart),
  'submitReview patient_inactive': whileChanged(active(false), active(true), withPresentChart),
  'submitReview guardian_required': after(jane(child), withPresentChart),
  'submitReview treatment_not_permitted': whileChanged(onlyLive(true), onlyLive(false), withPresentChart),
  'simulateEncounter treatment_not_permitted': whileChanged(onlyLive(true), onlyLive(false), withBody({})),
  'reorderTreatments treatment_not_found': withBody({ treatmentIds: [absent] }),
  'cancelOrder invalid_state': after(payEverything, withBody({})),
  'refundPayment invalid_state': after(refundEverything, withBody({})),
  'recordFulfilment invalid_state': after(refundEverything, withBody({})),
  payment_not_found: withBody({ payment_id: absent }),
  refund_exceeds_payment: withBody({ amount: '299.01' }),
  claimed_by_other: sending(() => ({
    query: { encounter_id: claimed.encounter_id },
    body: { reviewerRef: 'another' },
  })),
  'getChart claimed_by_other': withQuery({ reviewerRef: 'another' }),
  not_due: about(scheduled),
  decisions_incomplete: (operation) => {
    const { decisions } = exampleBody(operation);
    const unknown = { categoryId: absent, subcategoryId: absent, decision: 'approved' };
    return send(operation, { body: { decisions: [unknown, ...(decisions as object[])] } });
  },
  ...provokedByDocuments(after, send),
  ...provokedByShipments(() => ({ harness, partner }), after, send),
  ...provokedByFullRecords(() => ({ harness, partner }), after, send),
  sandbox_busy: (operation) => whileAnotherResets(harness, tenantId, () => send(operation)),
  visit_required: after(() => claimTheVisit(harness, partner), about(scheduled)),
  payment_exceeds_balance: withBody({ amount: '554.01' }),
  sandbox_only: async (operation) =>
    send(operation, { token: await tokenOnce('live', async () => (await newPartner(harness)).token) }),
  clinic_not_permitted: async (operation) =>
    send(operation, { token: await tokenOf('for another clinic', permissions, [cast.clinics.denver]) }),
};

it('each failure with an example in the contract occurs with the members of that example, except the detail, after one audit row if it is recorded', async () => {
  const failures = failureExamples.filter(({ mediaType }) => mediaType === 'application/json');
  const titleOf = ({ title }: { readonly title: string }): string => title;
  await everyCase(failures, titleOf, (failure) => expectProvoked(failure, provocations));
  await audit.expectOneRowEach();
});
