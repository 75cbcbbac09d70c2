import { randomUUID } from 'node:crypto';
import type { DomainContext } from '../../src/context.js';
import { newClinic, newPartner, newProduct, patientBody, shipTo, type Partner } from '../../tests/support/factories.js';
import type { Harness } from '../../tests/support/harness.js';
import { call, type Answer } from '../../tests/support/http.js';
import { reviewer } from '../../tests/support/reviews.js';

/** A service with a tenant, and the records that an encounter names. */
export interface Scene {
  readonly partner: Partner;
  /** Sends a request; a change has an `Idempotency-Key`. @throws Error unless it succeeds */
  send(target: string, json?: object): Promise<Answer['body']>;
  readonly clinicId: string;
  readonly treatmentIds: readonly string[];
  readonly fileUrl: string;
}

/** The latest response about each part of an encounter. */
export type Life = Partial<Record<'patient' | 'document' | 'encounter' | 'chart' | 'order', Answer['body']>>;
type Step = (life: Life, scene: Scene) => Promise<Answer['body']>;

export async function openScene(baseUrl: string, domain: DomainContext, fileUrl: string): Promise<Scene> {
  // The factories use nothing else of a harness.
  const harness = { baseUrl, domain } as unknown as Harness;
  const partner = await newPartner(harness);
  const [clinicId, treatmentId] = await Promise.all([newClinic(harness, partner), newProduct(harness, partner)]);
  const send = async (target: string, json?: object): Promise<Answer['body']> => {
    const headers = json ? { 'Idempotency-Key': randomUUID() } : {};
    const { status, text, body } = await call({ baseUrl }, target, { token: partner.token, headers, json });
    if (status > 299) throw new Error(`${target}: ${status} ${text}`);
    return body;
  };
  return { partner, send, clinicId, treatmentIds: [treatmentId], fileUrl };
}

const at = ({ encounter }: Life, path = ''): string => `/encounters/${encounter.encounter_id}${path}`;
const fulfil =
  (status: string): Step =>
  ({ order }, { send }) =>
    send(`POST /orders/${order.order_no}/fulfilments`, { pharmacyId: order.lines[0].pharmacyId, status });

/** The requests of one encounter with a document, one treatment and a paid order, in their order. */
export const steps: Readonly<Record<string, Step>> = {
  createPatient: async (life, { send }) => (life.patient = await send('POST /clients', patientBody())),
  uploadPatientDocument: async (life, { send, fileUrl: url }) =>
    (life.document = await send(`POST /clients-documents/${life.patient.user_id}/upload-url/lab-results`, { url })),
  createEncounter: async (life, { send, clinicId, treatmentIds }) =>
    (life.encounter = await send('POST /encounters', {
      ...{ clinicId, treatmentIds, shipTo, patientId: life.patient.user_id, documentIds: [life.document.documentId] },
      ...{ reviewType: 'asynchronous', serviceQueue: 'provider_network' },
    })),
  listReviewQueue: (_life, { send }) => send('GET /review-queue'),
  claimEncounter: (life, { send }) => send(`POST ${at(life, '/claim')}`, { reviewerRef: reviewer }),
  getChart: async (life, { send }) => (life.chart = await send(`GET ${at(life, `/chart?reviewerRef=${reviewer}`)}`)),
  submitReview: async (life, { send }) => {
    const decisions = life.encounter.gfe_data.map(({ categoryId, subcategoryId }: Answer['body']) => ({
      ...{ categoryId, subcategoryId, decision: 'approved' },
    }));
    const review = { reviewerRef: reviewer, chartVersion: life.chart.chartVersion, decisions };
    life.encounter = await send(`POST ${at(life, '/review')}`, review);
  },
  getOrder: async (life, { send }) => (life.order = await send(`GET /orders/${life.encounter.order_no}`)),
  recordPayment: ({ order }, { send }) =>
    send(`POST /orders/${order.order_no}/payments`, { amount: order.balance_amt }),
  'recordFulfilment, accepted': fulfil('accepted'),
  'recordFulfilment, shipped': fulfil('shipped'),
  'recordFulfilment, delivered': fulfil('delivered'),
};

/** Reads of an encounter that is delivered. */
export const reads: Readonly<Record<string, Step>> = {
  getEncounter: (life, { send }) => send(`GET ${at(life)}`),
  getPatient: (life, { send }) => send(`GET /clients/${life.patient.user_id}`),
  listOrders: (_life, { send }) => send('GET /orders'),
  listEncounters: (_life, { send }) => send('GET /encounters'),
  listEvents: (_life, { send }) => send('GET /events'),
};
