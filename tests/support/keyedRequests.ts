import type { RequestListener } from 'node:http';
import { encounterBody, newEncounter, newPatient, patientBody, type Partner } from './factories.js';
import { sampleFiles, type FileHost } from './fileHost.js';
import type { Harness } from './harness.js';
import { pay } from './orders.js';
import { askedEncounter, claimedEncounter, completedEncounter, deny, reviewBody, reviewer } from './reviews.js';
import { newEndpoint } from './webhooks.js';

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

const onEncounter = (action: string, number: unknown, json: object): Asked => ({
  target: `POST /encounters/${String(number)}/${action}`,
  json,
});

/** The requests of every operation that takes a key. */
export const keyedRequests: Readonly<Record<string, (stage: Stage) => Promise<KeyedRequests>>> = {
  async createPatient({ harness, partner }) {
    const target = 'POST /clients';
    const json = patientBody();
    const taken = patientBody();
    await newPatient(harness, partner, taken);
    return {
      right: { target, json },
      other: { target, json: { ...json, firstName: 'June' } },
      failing: { target, json: { ...json, email: taken['email'] } },
    };
  },
  async uploadPatientDocument({ harness, partner, fileHost }) {
    const target = `POST /clients-documents/${await newPatient(harness, partner)}/upload-url`;
    const gone: RequestListener = (_req, res) => res.writeHead(404).end();
    const file = { content: sampleFiles.pdf, headers: { 'Content-Type': 'application/pdf' } };
    return {
      right: { target: `${target}/lab-results`, json: { url: fileHost.serve('/blood.pdf', file) } },
      other: { target: `${target}/lab-results`, json: { url: fileHost.serve('/other.pdf', file) } },
      failing: { target: `${target}/gfe-forms`, json: { url: fileHost.serve('/gone.pdf', gone) } },
    };
  },
  async createEncounter({ harness, partner }) {
    const target = 'POST /encounters';
    const json = await encounterBody(harness, partner);
    return {
      right: { target, json },
      other: { target, json: { ...json, reviewType: 'synchronous' } },
      failing: { target, json: { ...json, patientId: unknownId } },
    };
  },
  async cancelEncounter({ harness, partner }) {
    const { encounter_id } = await newEncounter(harness, partner);
    const json = { reason: 'patient_request' };
    return {
      right: onEncounter('cancel', encounter_id, json),
      other: onEncounter('cancel', encounter_id, { reason: 'duplicate' }),
      failing: onEncounter('cancel', 999_999_999, json),
    };
  },
  async claimEncounter({ harness, partner }) {
    const { encounter_id } = await newEncounter(harness, partner);
    const json = { reviewerRef: 'NPI-1' };
    return {
      right: onEncounter('claim', encounter_id, json),
      other: onEncounter('claim', encounter_id, { ...json, leaseSeconds: 600 }),
      failing: onEncounter('claim', 999_999_999, json),
    };
  },
  async rescheduleEncounter({ harness, partner }) {
    const { encounter_id } = await newEncounter(harness, partner);
    const json = { scheduledDay: '2026-12-01' };
    return {
      right: onEncounter('reschedule', encounter_id, json),
      other: onEncounter('reschedule', encounter_id, {}),
      failing: onEncounter('reschedule', 999_999_999, json),
    };
  },
  async requestInformation({ harness, partner }) {
    const { encounter_id } = await claimedEncounter(harness, partner);
    const json = { reviewerRef: reviewer, message: 'Which medication?' };
    return {
      right: onEncounter('request-information', encounter_id, json),
      other: onEncounter('request-information', encounter_id, { ...json, message: 'Which dose?' }),
      failing: onEncounter('request-information', 999_999_999, json),
    };
  },
  async provideInformation({ harness, partner }) {
    const { encounter_id } = await askedEncounter(harness, partner);
    const json = { additionalNotes: 'None.' };
    return {
      right: onEncounter('information', encounter_id, json),
      other: onEncounter('information', encounter_id, { additionalNotes: 'Aspirin.' }),
      failing: onEncounter('information', 999_999_999, json),
    };
  },
  async submitReview({ harness, partner }) {
    const encounter = await claimedEncounter(harness, partner);
    const { encounter_id } = encounter;
    return {
      right: onEncounter('review', encounter_id, reviewBody(encounter)),
      other: onEncounter('review', encounter_id, reviewBody(encounter, deny)),
      failing: onEncounter('review', 999_999_999, reviewBody(encounter)),
    };
  },
  async addAddendum({ harness, partner }) {
    const { encounter_id } = await completedEncounter(harness, partner);
    const json = { reviewerRef: reviewer, text: 'Seen.' };
    return {
      right: onEncounter('addenda', encounter_id, json),
      other: onEncounter('addenda', encounter_id, { ...json, text: 'Not seen.' }),
      failing: onEncounter('addenda', 999_999_999, json),
    };
  },
  async revokeApprovals({ harness, partner }) {
    const { encounter_id, gfe_data } = await completedEncounter(harness, partner);
    const [{ categoryId, subcategoryId }] = gfe_data;
    const json = { reviewerRef: 'NPI-1', items: [{ categoryId, subcategoryId }], reason: 'Audit.' };
    return {
      right: onEncounter('revoke', encounter_id, json),
      other: onEncounter('revoke', encounter_id, { ...json, reason: 'Error.' }),
      failing: onEncounter('revoke', 999_999_999, json),
    };
  },
  async refundPayment({ harness, partner }) {
    const { order_no } = await completedEncounter(harness, partner);
    const { body } = await pay(harness, partner, order_no, { amount: '100.00' });
    const target = `POST /orders/${order_no}/refunds`;
    const json = { payment_id: body.payments[0].id, amount: '10.00', reason: 'Discount.' };
    return {
      right: { target, json },
      other: { target, json: { ...json, amount: '1.00' } },
      failing: { target, json: { ...json, amount: '100.01' } },
    };
  },
  async createWebhookEndpoint({ harness, partner: { tenantId } }) {
    // A client may have five.
    await harness.domain.db.prisma.webhookEndpoint.deleteMany({ where: { tenantId } });
    const target = 'POST /webhook-endpoints';
    const json = { url: 'https://hooks.northwind.example/all' };
    return {
      right: { target, json },
      other: { target, json: { ...json, description: 'All' } },
      failing: { target, json: { url: 'https://127.0.0.1/hook' } },
    };
  },
  async rotateWebhookSecret({ harness, partner }) {
    await harness.domain.db.prisma.webhookEndpoint.deleteMany({ where: { tenantId: partner.tenantId } });
    // The operation takes no body.
    const rotationOf = (id: string): Asked => ({ target: `POST /webhook-endpoints/${id}/rotate-secret`, json: {} });
    const [one, another] = [await newEndpoint(harness, partner), await newEndpoint(harness, partner)];
    return {
      right: rotationOf(one.id),
      other: rotationOf(another.id),
      failing: rotationOf(harness.domain.newId()),
    };
  },
  async recordPayment({ harness, partner }) {
    const { order_no } = await completedEncounter(harness, partner);
    const target = `POST /orders/${order_no}/payments`;
    const json = { amount: '100.00' };
    return {
      right: { target, json },
      other: { target, json: { amount: '1.00' } },
      failing: { target: 'POST /orders/ORD-999999999/payments', json },
    };
  },
};
