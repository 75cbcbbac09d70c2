import type { EventType } from '../../../src/contract.js';
import { expireDueEncounters } from '../../../src/domain/sweeps/encounterDeadlines.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../../../src/domain/sweeps/approvalNotices.js';
import { wholeTenant } from '../../../src/cli/operator.js';
import { cancelOrder } from '../../../src/domain/orders/cancellation.js';
import { recordVerification } from '../../../src/domain/patients/verification.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { eventSchemas, schemaFaults, type Schema } from '../../support/contract.js';
import { eventsUpTo, recordEndpointEvents } from '../../support/events.js';
import { newCategory, newClinic, newEncounter, newPartner, newPatient, newProduct } from '../../support/factories.js';
import { sampleFiles } from '../../support/fileHost.js';
import { openHarnessWithHost } from '../../support/harness.js';
import { call, type Answer, type CallOptions } from '../../support/http.js';
import { getOrder, pay } from '../../support/orders.js';
import {
  cancelled,
  claim,
  claimedEncounter,
  completedEncounter,
  reviewBody,
  reviewed,
  reviewer,
} from '../../support/reviews.js';
import { fulfil } from '../../support/shipments.js';

/** Marks free texts of requests, so that a test can find them in events. */
const MARK = 'zqx';
const text = (rest: string): string => `${MARK} ${rest}`;

const { harness, host: files } = await openHarnessWithHost();
const partner = await newPartner(harness);
await provokeEveryEvent();
const events = await eventsUpTo(harness, partner, 'patient.created', 2);

async function send(target: string, options: CallOptions): Promise<Answer> {
  const answer = await call(harness, target, { token: partner.token, ...options });
  if (answer.status >= 300) throw new Error(`Correct ${target}: it answered ${answer.status} ${answer.body?.code}`);
  return answer;
}

/** Provokes every type of event by requests with marked texts; the last event is a new patient. */
async function provokeEveryEvent(): Promise<void> {
  const { domain } = harness;
  const patientId = await newPatient(harness, partner, {
    firstName: text('Jane'),
    lastName: text('Miller'),
    email: `${MARK}@example.com`,
    notes: text('notes'),
    medicalHistory: text('history'),
    insuranceInfo: text('plan'),
    employer: text('employer'),
    guardian: { name: text('Ann'), relation: text('mother'), phone: '5125550143' },
  });
  await send(`PATCH /clients/${patientId}`, { json: { notes: text('more'), metadata: { [MARK]: text('own') } } });
  await inTransaction(domain, (work) => recordVerification(work, partner.tenantId, patientId, 'VERIFIED'));
  const url = files.serve(`/${MARK}.pdf`, { content: sampleFiles.pdf });
  const file = { url, fileName: `${text('file')}.pdf` };
  const { body: document } = await send(`POST /clients-documents/${patientId}/upload-url/lab-results`, { json: file });
  await send(`POST /documents/${document.documentId}/withdraw`, { json: { reason: 'illegible' } });

  const groups = [await newCategory(harness, partner), await newCategory(harness, partner)];
  await domain.db.prisma.$executeRaw`
    UPDATE category SET category_name = ${MARK} || category_name WHERE tenant_id = ${partner.tenantId}`;
  const treatmentIds = await Promise.all(
    groups.map((group) => newProduct(harness, partner, { ...group, name: text('product') })),
  );
  const metadata = { [MARK]: text('own') };
  const clinicId = await newClinic(harness, partner);
  const body = { clinicId, patientId, treatmentIds, additionalNotes: text('allergies'), reference: 'APPT-1', metadata };
  const decide = (_: object, index: number) =>
    index === 0 ? { decision: 'approved' } : { decision: 'denied', reason: text('contraindicated') };

  const encounter = await claimedEncounter(harness, partner, { ...body, reviewType: 'synchronous' });
  await send(`POST /encounters/${encounter.encounter_id}/release`, { json: { reviewerRef: reviewer } });
  const visitUrl = 'https://visits.example.com/';
  await claim(harness, partner, encounter, { reviewerRef: text('provider'), visitUrl });
  const question = { reviewerRef: text('provider'), message: text('medication') };
  await send(`POST /encounters/${encounter.encounter_id}/request-information`, { json: question });
  await send(`POST /encounters/${encounter.encounter_id}/information`, { json: { additionalNotes: text('none') } });
  await send(`POST /encounters/${encounter.encounter_id}/reschedule`, { json: {} });
  const claimed = await claim(harness, partner, encounter, { reviewerRef: text('provider') });
  const json = {
    ...(await reviewBody(harness, partner, claimed, decide)),
    reviewerRef: text('provider'),
    notes: text('review'),
  };
  await send(`POST /encounters/${claimed.encounter_id}/review`, { json });
  const { order_no } = (await call(harness, `GET /encounters/${claimed.encounter_id}`, partner)).body;
  for (const [amount, reference] of [
    ['100.00', text('payment')],
    ['155.00', text('rest')],
  ]) {
    expect((await pay(harness, partner, order_no, { amount, reference })).status).toBe(201);
  }
  const order = (await getOrder(harness, partner, order_no)).body;
  const { pharmacyId } = order.lines[0];
  const fulfilment = { pharmacyId, status: 'accepted', carrier: text('carrier'), reason: text('late') };
  await send(`POST /orders/${order_no}/fulfilments`, { json: fulfilment });
  const refund = { payment_id: order.payments[0].id, amount: '1.00', reason: text('discount') };
  await send(`POST /orders/${order_no}/refunds`, { json: refund, headers: { 'Idempotency-Key': 'refund' } });

  const denyAll = () => ({ decision: 'denied', reason: text('no') });
  await reviewed(harness, partner, await newEncounter(harness, partner, body), denyAll);
  await cancelled(harness, partner, await newEncounter(harness, partner, body));
  const unpaid = await completedEncounter(harness, partner, body);
  await inTransaction(domain, (transaction) =>
    cancelOrder({ ...transaction, caller: wholeTenant(partner.tenantId) }, unpaid.order_no, null),
  );

  const [, { categoryId, subcategoryId }] = unpaid.gfe_data;
  await send(`POST /encounters/${unpaid.encounter_id}/revoke`, {
    json: { reviewerRef: text('auditor'), items: [{ categoryId, subcategoryId }], reason: text('overlooked') },
  });

  const elsewhere = await newClinic(harness, partner);
  const sent = await completedEncounter(harness, partner, { ...body, clinicId: elsewhere });
  await fulfil(harness, partner, sent.order_no, 'accepted', 'shipped');
  const [{ categoryId: first, subcategoryId: firstSub }] = sent.gfe_data;
  await send(`POST /encounters/${sent.encounter_id}/revoke`, {
    json: {
      reviewerRef: text('auditor'),
      items: [{ categoryId: first, subcategoryId: firstSub }],
      reason: text('late'),
    },
  });

  const waiting = await newEncounter(harness, partner, body);
  const changes = { reference: 'APPT-2', metadata: { [MARK]: text('other') } };
  await send(`PATCH /encounters/${waiting.encounter_id}`, { json: changes });
  const at = (time: string, ahead = 0) => ({ ...domain, now: () => new Date(Date.parse(time) + ahead) });
  await expireDueEncounters(at(waiting.expiresAt));
  const { validUntil } = unpaid.gfe_data[0];
  await announceExpiringApprovals(at(validUntil, -1));
  await announceExpiredApprovals(at(validUntil));
  await inTransaction(domain, (transaction) => recordEndpointEvents(transaction, partner));
  await newPatient(harness, partner);
}

describe('the data of an event', () => {
  it('has no property for free text in the contract, except reference, visitUrl, carrier and trackingNumber', () => {
    // A reference must not hold a name or health data; a visit needs its URL, a parcel its carrier and number.
    const allowed = ['reference', 'visitUrl', 'carrier', 'trackingNumber'];
    const open = Object.entries(eventSchemas).flatMap(([type, { properties = {} }]) =>
      Object.entries(properties['data']?.properties ?? {})
        .filter(([name, schema]) => !allowed.includes(name) && !isClosed(schema))
        .map(([name]) => `${type}: ${name}`),
    );
    expect(open).toEqual([]);
  });

  it('has all required properties of its type, and no other than its type lists', () => {
    for (const { type, data } of events) {
      const schema = { ...eventSchemas[type]?.properties?.['data'], additionalProperties: false };
      expect({ type, faults: schemaFaults(listed(schema), data) }).toEqual({ type, faults: [] });
    }
  });

  it('contains none of the names, notes, reasons and file names that requests sent', () => {
    expect(JSON.stringify(events)).not.toContain(MARK);
    const names = new Set(events.flatMap((event) => Object.keys(event)));
    expect([...names].sort()).toEqual(['data', 'id', 'timestamp', 'type']);
  });

  it('is checked by these tests for every type of event', () => {
    const seen = new Set(events.map(({ type }) => type));
    expect(Object.keys(eventSchemas).filter((type) => !seen.has(type as EventType))).toEqual([]);
  });
});

/** GFE and order numbers, and amounts of money. */
const patterns = ['^[A-Z]{2,6}-\\d{6,}$', '^\\d{1,12}\\.\\d{2}$'];

/** Whether the schema allows only ids, times, numbers, money and listed values, but no text of a person. */
function isClosed(schema: Schema & { readonly pattern?: string }): boolean {
  const { type, format = '', pattern = '', 'x-extensible-enum': values, items } = schema;
  if (items) return isClosed(items);
  const isListed = values !== undefined || patterns.includes(pattern);
  return isListed || type === 'integer' || ['uuid', 'date-time'].includes(format);
}

/** The schema with closed lists: partners must accept new values, but the service sends only listed ones. */
const listed = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"x-extensible-enum"', '"enum"')) as Schema;
