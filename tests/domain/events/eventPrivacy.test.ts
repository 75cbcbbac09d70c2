import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { EventType } from '../../../src/contract.js';
import { expireDueEncounters } from '../../../src/domain/encounters/expirySweeps.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../../../src/domain/reviews/approvals.js';
import { cancelOrderOf } from '../../../src/domain/orders/cancellation.js';
import { recordVerification } from '../../../src/domain/patients/verification.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { contract, type Schema } from '../../support/contract.js';
import { eventsUpTo, type ToldEvent } from '../../support/events.js';
import {
  newCategory,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  type Partner,
} from '../../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../../support/fileHost.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type CallOptions } from '../../support/http.js';
import { pay } from '../../support/orders.js';
import {
  cancelled,
  claim,
  claimedEncounter,
  completedEncounter,
  reviewBody,
  reviewed,
  reviewer,
} from '../../support/reviews.js';

/** What each type tells, and nothing else. */
const members: Readonly<Record<EventType, string>> = {
  'patient.created': 'user_id',
  'patient.updated': 'user_id, changed',
  'patient.verification_updated': 'user_id, isVerified',
  'document.created': 'documentId, user_id, docType',
  'encounter.created': 'encounter_id, gfe_no, status, reviewType, clinicId, patientId',
  'encounter.review_started': 'encounter_id, gfe_no',
  'encounter.released': 'encounter_id, gfe_no',
  'encounter.information_requested': 'encounter_id, gfe_no',
  'encounter.information_provided': 'encounter_id, gfe_no',
  'encounter.rescheduled': 'encounter_id, gfe_no',
  'encounter.completed': 'encounter_id, gfe_no, approved, denied, order_no',
  'encounter.denied': 'encounter_id, gfe_no, denied',
  'encounter.cancelled': 'encounter_id, gfe_no, reason',
  'encounter.expired': 'encounter_id, gfe_no',
  'gfe.expiring': 'encounter_id, gfe_no, patientId, categoryId, subcategoryId, validUntil',
  'gfe.expired': 'encounter_id, gfe_no, patientId, categoryId, subcategoryId, validUntil',
  'gfe.superseded': 'encounter_id, gfe_no, patientId, categoryId, subcategoryId, by_encounter_id, order_no',
  'gfe.revoked': 'encounter_id, gfe_no, patientId, categoryId, subcategoryId, by_encounter_id, order_no',
  'order.created': 'order_no, encounter_id, order_status, grand_total, balance_amt',
  'order.updated': 'order_no, encounter_id, order_status, grand_total, balance_amt',
  'order.paid': 'order_no, encounter_id, order_status, grand_total, balance_amt',
  'order.cancelled': 'order_no, encounter_id, order_status, grand_total, balance_amt',
  'order.refunded': 'order_no, encounter_id, order_status, grand_total, balance_amt',
  'order.fulfilment_updated': 'order_no, encounter_id, pharmacyId, fulfilment_status',
};

/** In every text that anybody sends. */
const MARK = 'zqx';
const text = (what: string): string => `${MARK} ${what}`;

let harness: Harness;
let files: FileHost;
let partner: Partner;
let events: readonly ToldEvent[];
beforeAll(async () => {
  files = await startFileHost();
  harness = await startHarness({ environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host } });
  partner = await newPartner(harness);
  await liveThroughEverything();
  events = await eventsUpTo(harness, partner, 'patient.created', 2);
});
afterAll(() => Promise.all([harness.close(), files.close()]));

async function send(target: string, options: CallOptions): Promise<void> {
  const { status, body } = await call(harness, target, { token: partner.token, ...options });
  if (status >= 300) throw new Error(`${target}: ${status} ${body?.code}`);
}

/** All that can happen, with free text wherever some can be sent; a new patient is the last. */
async function liveThroughEverything(): Promise<void> {
  const { domain } = harness;
  const patientId = await newPatient(harness, partner, {
    firstName: text('Jane'),
    lastName: text('Miller'),
    email: `${MARK}@example.com`,
    notes: text('notes'),
    medicalHistory: text('history'),
    insuranceInfo: text('plan'),
    employer: text('employer'),
  });
  await send(`PATCH /clients/${patientId}`, { json: { notes: text('more'), metadata: { [MARK]: text('own') } } });
  await inTransaction(domain, (transaction) =>
    recordVerification(transaction, partner.tenantId, patientId, 'VERIFIED'),
  );
  const url = files.serve(`/${MARK}.pdf`, { content: sampleFiles.pdf });
  const file = { url, fileName: `${text('file')}.pdf` };
  await send(`POST /clients-documents/${patientId}/upload-url/lab-results`, { json: file });

  const groups = [await newCategory(harness, partner), await newCategory(harness, partner)];
  await domain.db.$executeRaw`
    UPDATE category SET category_name = ${MARK} || category_name WHERE tenant_id = ${partner.tenantId}`;
  const treatmentIds = await Promise.all(
    groups.map((group) => newProduct(harness, partner, { ...group, name: text('product') })),
  );
  const body = { patientId, treatmentIds, additionalNotes: text('allergies') };
  const decide = (_: object, index: number) =>
    index === 0 ? { decision: 'approved' } : { decision: 'denied', reason: text('contraindicated') };

  const encounter = await claimedEncounter(harness, partner, { ...body, reviewType: 'synchronous' });
  await send(`POST /encounters/${encounter.encounter_id}/release`, { json: { reviewerRef: reviewer } });
  const visitUrl = `https://${MARK}.example.com/`;
  await claim(harness, partner, encounter, { reviewerRef: text('provider'), visitUrl });
  const question = { reviewerRef: text('provider'), message: text('medication') };
  await send(`POST /encounters/${encounter.encounter_id}/request-information`, { json: question });
  await send(`POST /encounters/${encounter.encounter_id}/information`, { json: { additionalNotes: text('none') } });
  await send(`POST /encounters/${encounter.encounter_id}/reschedule`, { json: {} });
  const claimed = await claim(harness, partner, encounter, { reviewerRef: text('provider') });
  const json = { ...reviewBody(claimed, decide), reviewerRef: text('provider'), notes: text('review') };
  await send(`POST /encounters/${claimed.encounter_id}/review`, { json });
  const { token } = partner;
  const {
    body: { order_no },
  } = await call(harness, `GET /encounters/${claimed.encounter_id}`, { token });
  const { status } = await pay(harness, partner, order_no, { amount: '100.00', reference: text('payment') });
  expect(status).toBe(201);
  expect((await pay(harness, partner, order_no, { amount: '155.00', reference: text('rest') })).status).toBe(201);

  const order = (await call(harness, `GET /orders/${order_no}`, { token })).body;
  const { pharmacyId } = order.lines[0];
  const taken = { pharmacyId, status: 'accepted', carrier: text('carrier'), reason: text('late') };
  await send(`POST /orders/${order_no}/fulfilments`, { json: taken });
  const back = { payment_id: order.payments[0].id, amount: '1.00', reason: text('discount') };
  await send(`POST /orders/${order_no}/refunds`, { json: back, headers: { 'Idempotency-Key': 'refund' } });

  const denyAll = () => ({ decision: 'denied', reason: text('no') });
  await reviewed(harness, partner, await newEncounter(harness, partner, body), denyAll);
  await cancelled(harness, partner, await newEncounter(harness, partner, body));
  const unpaid = await completedEncounter(harness, partner, body);
  await inTransaction(domain, (transaction) => cancelOrderOf(transaction, partner.tenantId, unpaid.order_no));

  const [, { categoryId, subcategoryId }] = unpaid.gfe_data;
  await send(`POST /encounters/${unpaid.encounter_id}/revoke`, {
    json: { reviewerRef: text('auditor'), items: [{ categoryId, subcategoryId }], reason: text('overlooked') },
  });

  const waiting = await newEncounter(harness, partner, body);
  const at = (time: string, ahead = 0) => ({ ...domain, now: () => new Date(Date.parse(time) + ahead) });
  await expireDueEncounters(at(waiting.expiresAt));
  const { validUntil } = unpaid.gfe_data[0];
  await announceExpiringApprovals(at(validUntil, -1));
  await announceExpiredApprovals(at(validUntil));
  await newPatient(harness, partner);
}

describe('an event holds no health data', () => {
  it('because the contract gives its data no place for free text', () => {
    const { EventData: { properties = {} } = {} } = contract.components.schemas;
    expect(Object.keys(properties).filter((name) => !isClosed(properties[name] ?? {}))).toEqual([]);
  });

  it('whatever happens: each tells just the members of its type, in their forms', () => {
    const { EventData: { properties = {} } = {} } = contract.components.schemas;
    const ajv = addFormats.default(new Ajv2020({ strict: false }));
    for (const { type, data } of events) {
      const names = members[type].split(', ');
      const own = Object.fromEntries(names.map((name) => [name, withEnum(properties[name] ?? {})]));
      const validate = ajv.compile({ type: 'object', properties: own, required: names, additionalProperties: false });
      validate(data);
      expect({ type, errors: validate.errors }).toEqual({ type, errors: null });
    }
  });

  it('and nothing of what anybody wrote', () => {
    expect(JSON.stringify(events)).not.toContain(MARK);
    const names = new Set(events.flatMap((event) => Object.keys(event)));
    expect([...names].sort()).toEqual(['data', 'id', 'timestamp', 'type']);
  });

  it('and these tests have seen every type that there is', () => {
    const seen = new Set(events.map(({ type }) => type));
    expect(Object.keys(members).filter((type) => !seen.has(type as EventType))).toEqual([]);
  });
});

/** Numbers of GFEs and orders, and money. */
const patterns = ['^[A-Z]{2,6}-\\d{6,}$', '^\\d{1,12}\\.\\d{2}$'];

/** Ids, times, numbers, money and values of a list: nothing that a person writes. */
function isClosed(schema: Schema & { readonly pattern?: string }): boolean {
  const { type, format = '', pattern = '', 'x-extensible-enum': values, items } = schema;
  if (items) return isClosed(items);
  const isListed = values !== undefined || patterns.includes(pattern);
  return isListed || type === 'integer' || ['uuid', 'date-time'].includes(format);
}

/** The vocabulary is open for partners; what we tell is of it. */
function withEnum({ 'x-extensible-enum': values, ...schema }: Schema): object {
  return values ? { ...schema, enum: values } : schema;
}
