import { randomUUID } from 'node:crypto';
import type { DomainContext } from '../../src/context.js';
import { newClinic, newPartner, newProduct, patientBody, shipTo, type Partner } from '../../tests/support/factories.js';
import type { Harness } from '../../tests/support/harness.js';
import { call } from '../../tests/support/http.js';
import { reviewer } from '../../tests/support/reviews.js';

/** A service with a tenant, and the existing records that an encounter refers to. */
export interface Scene {
  readonly partner: Partner;
  /** Sends a request; requests with a body get an `Idempotency-Key`. @throws Error unless the response is a success */
  send(target: string, json?: object): Promise<object>;
  readonly clinicId: string;
  readonly treatmentIds: readonly string[];
  readonly fileUrl: string;
}

/** Members of the latest responses, to which later requests refer. */
export interface Life {
  readonly user_id: string;
  readonly documentId: string;
  readonly encounter_id: number;
  readonly gfe_data: readonly { readonly categoryId: string; readonly subcategoryId: string }[];
  readonly chartVersion: string;
  readonly order_no: string;
  readonly balance_amt: string;
  readonly lines: readonly { readonly pharmacyId: string }[];
}

type Step = (life: Life, scene: Scene) => Promise<object>;
type Steps = Readonly<Record<string, Step>>;

export async function openScene(baseUrl: string, domain: DomainContext, fileUrl: string): Promise<Scene> {
  // The cast is safe, because the factories use only these members of a harness.
  const harness = { baseUrl, domain } as unknown as Harness;
  const partner = await newPartner(harness);
  const [clinicId, treatmentId] = await Promise.all([newClinic(harness, partner), newProduct(harness, partner)]);
  const send = async (target: string, json?: object): Promise<object> => {
    const headers = json ? { 'Idempotency-Key': randomUUID() } : undefined;
    const answer = await call({ baseUrl }, target, { token: partner.token, json, ...(headers && { headers }) });
    if (answer.status > 299) throw new Error(`${target}: ${answer.status} ${answer.text}`);
    return answer.body as object;
  };
  return { partner, send, clinicId, treatmentIds: [treatmentId], fileUrl };
}

/** Sends the requests of the steps one after the other. */
export async function live(scene: Scene, of: Steps = steps, life = {} as Life): Promise<Life> {
  for (const step of Object.values(of)) Object.assign(life, await step(life, scene));
  return life;
}

const fulfil =
  (status: string): Step =>
  ({ order_no, lines: [line] }, { send }) =>
    send(`POST /orders/${order_no}/fulfilments`, { pharmacyId: line?.pharmacyId, status });

/** The steps of an encounter with a document, one treatment and a paid order, each a request. */
export const steps: Steps = {
  createPatient: (_life, { send }) => send('POST /clients', patientBody()),
  uploadPatientDocument: ({ user_id }, { send, fileUrl: url }) =>
    send(`POST /clients-documents/${user_id}/upload-url/lab-results`, { url }),
  createEncounter: ({ user_id: patientId, documentId }, { send, clinicId, treatmentIds }) =>
    send('POST /encounters', {
      ...{ clinicId, treatmentIds, shipTo, patientId, documentIds: [documentId] },
      ...{ reviewType: 'asynchronous', serviceQueue: 'provider_network' },
    }),
  listReviewQueue: (_life, { send }) => send('GET /review-queue'),
  claimEncounter: ({ encounter_id }, { send }) =>
    send(`POST /encounters/${encounter_id}/claim`, { reviewerRef: reviewer }),
  getChart: ({ encounter_id }, { send }) => send(`GET /encounters/${encounter_id}/chart?reviewerRef=${reviewer}`),
  submitReview: ({ encounter_id, chartVersion, gfe_data }, { send }) =>
    send(`POST /encounters/${encounter_id}/review`, {
      ...{ reviewerRef: reviewer, chartVersion },
      decisions: gfe_data.map(({ categoryId, subcategoryId }) => ({ categoryId, subcategoryId, decision: 'approved' })),
    }),
  getOrder: ({ order_no }, { send }) => send(`GET /orders/${order_no}`),
  recordPayment: ({ order_no, balance_amt: amount }, { send }) => send(`POST /orders/${order_no}/payments`, { amount }),
  'recordFulfilment, accepted': fulfil('accepted'),
  'recordFulfilment, shipped': fulfil('shipped'),
  'recordFulfilment, delivered': fulfil('delivered'),
};

/** Reads that concern a delivered encounter. */
export const reads: Steps = {
  getEncounter: ({ encounter_id }, { send }) => send(`GET /encounters/${encounter_id}`),
  getPatient: ({ user_id }, { send }) => send(`GET /clients/${user_id}`),
  listOrders: (_life, { send }) => send('GET /orders'),
  listEncounters: (_life, { send }) => send('GET /encounters'),
  listEvents: (_life, { send }) => send('GET /events'),
};
