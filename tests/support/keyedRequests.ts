import type { RequestListener } from 'node:http';
import {
  encounterBody,
  newDocument,
  newEncounter,
  newPatient,
  patientBody,
  shipTo,
  type Partner,
} from './factories.js';
import { sampleFiles, type FileHost } from './fileHost.js';
import type { Harness } from './harness.js';
import { call, type Answer } from './http.js';
import { getOrder, pay } from './orders.js';
import { askedEncounter, claimedEncounter, completedEncounter, deny, reviewBody, reviewer } from './reviews.js';
import { newEndpoint, newWebhooks } from './webhooks.js';

const unknownId = '01a10caf-a4c0-7000-8000-00000000dead';

/** The service, the host of its documents, and the sender of the requests. */
export interface Stage {
  readonly harness: Harness;
  /** The service may fetch documents from it. */
  readonly fileHost: FileHost;
  readonly partner: Partner;
}

/** A request to send. */
export interface Asked {
  readonly target: string;
  readonly json: object;
}

/** A request that succeeds once, one that would succeed in its place, and one that fails. */
export interface KeyedRequests {
  readonly right: Asked;
  readonly other: Asked;
  readonly failing: Asked;
}

type Encounter = Answer['body'];

/** Requests to one target with these bodies. */
const to = (target: string, right: object, other: object, failing: object): KeyedRequests => ({
  right: { target, json: right },
  other: { target, json: other },
  failing: { target, json: failing },
});

/** Requests for an action on an encounter, of which the failing one names an unknown encounter. */
const onEncounter = (action: string, { encounter_id }: Encounter, right: object, other: object): KeyedRequests => ({
  ...to(`POST /encounters/${encounter_id}/${action}`, right, other, right),
  failing: { target: `POST /encounters/999999999/${action}`, json: right },
});

/** Requests for an action on the order of an encounter, of which the failing one names an unknown order. */
const onOrder = (action: string, { order_no }: Encounter, right: object, other: object): KeyedRequests => ({
  ...to(`POST /orders/${order_no}/${action}`, right, other, right),
  failing: { target: `POST /orders/ORD-999999999/${action}`, json: right },
});

/** Requests without a body, of which the failing one names an unknown id. */
function bodiless(right: string, other: string, targetOf: (id: string) => string): KeyedRequests {
  const about = (id: string): Asked => ({ target: targetOf(id), json: {} });
  return { right: about(right), other: about(other), failing: about(unknownId) };
}

/** Two new endpoints, after removing the others, because a client may have five. */
async function twoEndpoints({ harness, partner }: Stage): Promise<[string, string]> {
  await harness.domain.db.prisma.webhookEndpoint.deleteMany({ where: { tenantId: partner.tenantId } });
  return [(await newEndpoint(harness, partner)).id, (await newEndpoint(harness, partner)).id];
}

/** Requests without a body to each of two endpoints and to an unknown one. */
async function onEndpoints(stage: Stage, action: string): Promise<KeyedRequests> {
  const [right, other] = await twoEndpoints(stage);
  return bodiless(right, other, (id) => `POST /webhook-endpoints/${id}/${action}`);
}

/** The requests of every operation that takes a key. The partner is a sandbox. */
export const keyedRequests: Readonly<Record<string, (stage: Stage) => Promise<KeyedRequests>>> = {
  async createPatient({ harness, partner }) {
    const [json, taken] = [patientBody(), patientBody()];
    await newPatient(harness, partner, taken);
    return to('POST /clients', json, { ...json, firstName: 'June' }, { ...json, email: taken['email'] });
  },
  async uploadPatientDocument({ harness, partner, fileHost }) {
    const target = `POST /clients-documents/${await newPatient(harness, partner)}/upload-url`;
    const gone: RequestListener = (_req, res) => res.writeHead(404).end();
    const file = { content: sampleFiles.pdf, headers: { 'Content-Type': 'application/pdf' } };
    const [right, other] = ['/blood.pdf', '/other.pdf'].map((path) => ({ url: fileHost.serve(path, file) }));
    return {
      ...to(`${target}/lab-results`, right ?? {}, other ?? {}, {}),
      failing: { target: `${target}/gfe-forms`, json: { url: fileHost.serve('/gone.pdf', gone) } },
    };
  },
  async withdrawDocument({ harness, partner }) {
    const target = `POST /documents/${await newDocument(harness, partner, await newPatient(harness, partner))}/withdraw`;
    const [right, other] = [{ reason: 'illegible' }, { reason: 'superseded' }];
    return {
      ...to(target, right, other, {}),
      failing: { target: `POST /documents/${unknownId}/withdraw`, json: right },
    };
  },
  async createEncounter({ harness, partner }) {
    const json = await encounterBody(harness, partner);
    const other = { ...json, reviewType: 'synchronous' };
    return to('POST /encounters', json, other, { ...json, patientId: unknownId });
  },
  async cancelEncounter({ harness, partner }) {
    const [right, other] = [{ reason: 'patient_request' }, { reason: 'duplicate' }];
    return onEncounter('cancel', await newEncounter(harness, partner), right, other);
  },
  async claimEncounter({ harness, partner }) {
    const json = { reviewerRef: 'NPI-1' };
    return onEncounter('claim', await newEncounter(harness, partner), json, { ...json, leaseSeconds: 600 });
  },
  async rescheduleEncounter({ harness, partner }) {
    return onEncounter('reschedule', await newEncounter(harness, partner), { scheduledDay: '2026-12-01' }, {});
  },
  async updateEncounter({ harness, partner }) {
    const { encounter_id } = await newEncounter(harness, partner);
    const right = { reference: 'APPT-1' };
    return {
      ...to(`PATCH /encounters/${encounter_id}`, right, { reference: 'APPT-2' }, right),
      failing: { target: 'PATCH /encounters/999999999', json: right },
    };
  },
  async requestInformation({ harness, partner }) {
    const json = { reviewerRef: reviewer, message: 'Which medication?' };
    const encounter = await claimedEncounter(harness, partner);
    return onEncounter('request-information', encounter, json, { ...json, message: 'Which dose?' });
  },
  async provideInformation({ harness, partner }) {
    const [right, other] = [{ additionalNotes: 'None.' }, { additionalNotes: 'Aspirin.' }];
    return onEncounter('information', await askedEncounter(harness, partner), right, other);
  },
  async submitReview({ harness, partner }) {
    const encounter = await claimedEncounter(harness, partner);
    const json = await reviewBody(harness, partner, encounter);
    return onEncounter('review', encounter, json, await reviewBody(harness, partner, encounter, deny));
  },
  async addAddendum({ harness, partner }) {
    const json = { reviewerRef: reviewer, text: 'Seen.' };
    return onEncounter('addenda', await completedEncounter(harness, partner), json, { ...json, text: 'Not seen.' });
  },
  async revokeApprovals({ harness, partner }) {
    const encounter = await completedEncounter(harness, partner);
    const [{ categoryId, subcategoryId }] = encounter.gfe_data;
    const json = { reviewerRef: 'NPI-1', items: [{ categoryId, subcategoryId }], reason: 'Audit.' };
    return onEncounter('revoke', encounter, json, { ...json, reason: 'Error.' });
  },
  async reorderTreatments({ harness, partner }) {
    const encounter = await completedEncounter(harness, partner);
    const json = { treatmentIds: encounter.treatmentIds };
    return onEncounter('reorder', encounter, json, { ...json, shipTo: { ...shipTo, address1: '1 Main Street' } });
  },
  async refundPayment({ harness, partner }) {
    const { order_no } = await completedEncounter(harness, partner);
    const { body } = await pay(harness, partner, order_no, { amount: '100.00' });
    const json = { payment_id: body.payments[0].id, amount: '10.00', reason: 'Discount.' };
    const [other, failing] = ['1.00', '100.01'].map((amount) => ({ ...json, amount }));
    return to(`POST /orders/${order_no}/refunds`, json, other ?? {}, failing ?? {});
  },
  async createWebhookEndpoint(stage) {
    await twoEndpoints(stage);
    const json = { url: 'https://hooks.northwind.example/all' };
    return to('POST /webhook-endpoints', json, { ...json, description: 'All' }, { url: 'https://127.0.0.1/hook' });
  },
  rotateWebhookSecret: (stage) => onEndpoints(stage, 'rotate-secret'),
  pingWebhookEndpoint: (stage) => onEndpoints(stage, 'ping'),
  async updateWebhookEndpoint(stage) {
    const [id] = await twoEndpoints(stage);
    const failing = { url: 'https://127.0.0.1/hook' };
    return to(`PATCH /webhook-endpoints/${id}`, { description: 'All' }, { description: 'Some' }, failing);
  },
  async replayWebhookEvents(stage) {
    const [id] = await twoEndpoints(stage);
    await newPatient(stage.harness, stage.partner);
    const json = { after: '2026-01-01T00:00:00Z' };
    return {
      ...to(`POST /webhook-endpoints/${id}/replay`, json, { after: '2026-01-02T00:00:00Z' }, {}),
      failing: { target: `POST /webhook-endpoints/${unknownId}/replay`, json },
    };
  },
  async retryWebhookDelivery(stage) {
    const { harness, partner } = stage;
    await twoEndpoints(stage);
    for (let count = 0; count < 2; count += 1) await newPatient(harness, partner);
    const { endpoint_id: id } = await newWebhooks(harness, partner);
    const { data } = (await call(harness, `GET /webhook-endpoints/${id}/deliveries`, partner)).body;
    return bodiless(data[0].id, data[1].id, (delivery) => `POST /webhook-endpoints/${id}/deliveries/${delivery}/retry`);
  },
  async updatePatient({ harness, partner }) {
    const taken = patientBody();
    await newPatient(harness, partner, taken);
    const target = `PATCH /clients/${await newPatient(harness, partner)}`;
    return to(target, { firstName: 'June' }, { firstName: 'Jane' }, { email: taken['email'] });
  },
  async releaseEncounter({ harness, partner }) {
    const json = { reviewerRef: reviewer };
    return onEncounter('release', await claimedEncounter(harness, partner), json, { reviewerRef: 'NPI-2' });
  },
  async cancelOrder({ harness, partner }) {
    return onOrder('cancel', await completedEncounter(harness, partner), { reason: 'Declined.' }, { reason: 'Error.' });
  },
  async recordFulfilment({ harness, partner }) {
    const encounter = await completedEncounter(harness, partner);
    const { pharmacyId } = (await getOrder(harness, partner, encounter.order_no)).body.lines[0];
    const json = { pharmacyId, status: 'accepted' };
    return onOrder('fulfilments', encounter, json, { ...json, status: 'exception', reason: 'Stock.' });
  },
  async recordPayment({ harness, partner }) {
    return onOrder('payments', await completedEncounter(harness, partner), { amount: '100.00' }, { amount: '1.00' });
  },
  async simulateEncounter({ harness, partner }) {
    const { encounter_id } = await newEncounter(harness, partner);
    const of = (id: number): string => `POST /sandbox/encounters/${id}/simulate`;
    const json = { outcome: 'approve_all' };
    return { ...to(of(encounter_id), json, { outcome: 'deny_all' }, {}), failing: { target: of(999999999), json } };
  },
  async simulateVerification({ harness, partner }) {
    const of = (id: string): string => `POST /sandbox/clients/${id}/verification`;
    const [id, json] = [await newPatient(harness, partner), { status: 'INVITED' }];
    return { ...to(of(id), json, { status: 'VERIFIED' }, {}), failing: { target: of(unknownId), json } };
  },
};
