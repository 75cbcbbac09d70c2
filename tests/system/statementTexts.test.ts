import { newClient, newClinic, newDocument, newPartner, newPatient, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { askedEncounter, claimedEncounter, completedEncounter, deny, reviewBody } from '../support/reviews.js';
import { statementsOf } from '../support/statements.js';

const [SHORT, LONG] = [5, 8];

const harness = await openHarness();
const pharmacyId = '0b0f4b7e-5d0c-4b43-9a43-0d9b8c1f0a11';

const partner = await newPartner(harness);
const { tenantId } = partner;
const patientId = await newPatient(harness, partner);
const each = <T>(make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: LONG }, make));
const clinicIds = await each(() => newClinic(harness, partner));
const productIds = await each(() => newProduct(harness, partner));
const documentIds = await each(() => newDocument(harness, partner, patientId));
await harness.domain.db.prisma.product.updateMany({ where: { tenantId }, data: { pharmacyId } });

/** The clinic, treatments and patient of an encounter; by default, a new patient. */
const parts = async (length: number, ofPatient?: string) => ({
  clinicId: clinicIds[0],
  treatmentIds: productIds.slice(0, length),
  patientId: ofPatient ?? (await newPatient(harness, partner)),
});
const body = async (length: number) => ({
  ...(await parts(length, patientId)),
  ...{ documentIds: documentIds.slice(0, length), reviewType: 'asynchronous', serviceQueue: 'provider_network' },
});
const send = async (target: string, json?: unknown, { token } = partner): Promise<void> => {
  const headers: Record<string, string> = json === undefined ? {} : { 'Idempotency-Key': `${target} ${Math.random()}` };
  const { status, text } = await call(harness, target, { token, json, headers });
  if (status >= 300) throw new Error(`${target}: ${status} ${text}`);
};

/** Prepares lists of this length, and returns the work to observe. */
type Prepare = (length: number) => Promise<() => Promise<unknown>>;
const lists = ['encounters', 'orders', 'clinics', 'review-queue', 'tenants/products', 'events'];
const reads = [...lists, 'clients?email=a@example.com'].map((path) => `GET /${path}`);
const operations: Record<string, Prepare> = {
  async createEncounter(length) {
    const json = await body(length);
    return () => send('POST /encounters', json);
  },
  async previewEncounter(length) {
    const json = await body(length);
    return () => send('POST /encounters/preview', json);
  },
  async submitReview(length) {
    const of = await parts(length);
    await completedEncounter(harness, partner, of);
    const claimed = await claimedEncounter(harness, partner, of);
    const review = await reviewBody(harness, partner, claimed, deny);
    return () => send(`POST /encounters/${claimed.encounter_id}/review`, review);
  },
  async revokeApprovals(length) {
    const { encounter_id, gfe_data } = await completedEncounter(harness, partner, await parts(length));
    const items = gfe_data.map(({ categoryId, subcategoryId }: any) => ({ categoryId, subcategoryId }));
    const json = { reviewerRef: '1234567893', reason: 'Recalled.', items };
    return () => send(`POST /encounters/${encounter_id}/revoke`, json);
  },
  async provideInformation(length) {
    const { encounter_id } = await askedEncounter(harness, partner, await parts(1, patientId));
    const json = { documentIds: documentIds.slice(0, length) };
    return () => send(`POST /encounters/${encounter_id}/information`, json);
  },
  async getChart(length) {
    const { encounter_id } = await claimedEncounter(harness, partner, await body(length));
    return () => send(`GET /encounters/${encounter_id}/chart?reviewerRef=1234567893`);
  },
  async recordFulfilment(length) {
    const { orderNo } = await orderOf(await completedEncounter(harness, partner, await parts(length)));
    return () => send(`POST /orders/${orderNo}/fulfilments`, { pharmacyId, status: 'accepted' });
  },
  async listOrders(length) {
    for (let count = 0; count < length; count += 1) await completedEncounter(harness, partner, await parts(1));
    return () => send(`GET /orders?limit=${length}`);
  },
  async 'a list of an API client that is limited to clinics'(length) {
    const limited = await newClient(harness, partner.tenantId, undefined, clinicIds.slice(0, length));
    return async () => {
      for (const target of reads) await send(target, undefined, limited);
    };
  },
};

const orderOf = ({ encounter_id: encounterNo }: any) =>
  harness.domain.db.prisma.order.findFirstOrThrow({
    where: { tenantId: partner.tenantId, encounter: { encounterNo } },
  });

it.each(Object.entries(operations))(
  '%s prepares only SQL statements whose texts do not depend on the length of its lists',
  async (_, prepare) => {
    const textsOf = async (length: number): Promise<string[]> => {
      const work = await prepare(length);
      return (await statementsOf(work)).filter(({ name }) => name !== '').map(({ text }) => text);
    };
    const known = new Set(await textsOf(SHORT));
    expect(known.size).toBeGreaterThan(1);
    expect((await textsOf(LONG)).filter((text) => !known.has(text))).toEqual([]);
  },
);
