import { encounterBody, newPartner, newPatient, newProduct } from '../../support/factories.js';
import { call } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { claimedEncounter, completedEncounter, reviewBody, reviewer } from '../../support/reviews.js';
import { rowsScanned, statementsOf, type Statement } from '../../support/statements.js';

const ENCOUNTERS = 12;

const { harness, observer } = await openObservedHarness();
const { rows: tables } = await observer.query<{ name: string }>(
  `SELECT quote_ident(relname) AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
);
for (const { name } of tables) await observer.query(`ALTER TABLE ${name} SET (autovacuum_enabled = off)`);
const partner = await newPartner(harness);
const { token } = partner;
const treatmentIds = await Promise.all(['a', 'b', 'c', 'd'].map(() => newProduct(harness, partner)));
const { clinicId } = await encounterBody(harness, partner);
const parts = async () => ({ clinicId, treatmentIds, patientId: await newPatient(harness, partner) });
for (let made = 0; made < ENCOUNTERS; made += 1) await completedEncounter(harness, partner, await parts());

const itemsOf = ({ gfe_data: items }: any) =>
  items.map(({ categoryId, subcategoryId }: any) => ({ categoryId, subcategoryId }));
const get = (path: string) => async () => ({ target: `GET ${path}` });

/** Makes the records that an operation needs. @returns its request */
type Prepared = () => Promise<{ readonly target: string; readonly json?: object }>;
const completed = async () => {
  const encounter = await completedEncounter(harness, partner, await parts());
  const { body: order } = await call(harness, `GET /orders/${encounter.order_no}`, { token });
  return { encounter, order, path: `/orders/${encounter.order_no}` };
};
const operations: Readonly<Record<string, Prepared>> = {
  createEncounter: async () => ({
    target: 'POST /encounters',
    json: { ...(await encounterBody(harness, partner)), ...(await parts()) },
  }),
  submitReview: async () => {
    const encounter = await claimedEncounter(harness, partner, await parts());
    const json = await reviewBody(harness, partner, encounter);
    return { target: `POST /encounters/${encounter.encounter_id}/review`, json };
  },
  getChart: async () => {
    const { encounter_id: id } = await claimedEncounter(harness, partner, await parts());
    return { target: `GET /encounters/${id}/chart?reviewerRef=${reviewer}` };
  },
  revokeApprovals: async () => {
    const { encounter } = await completed();
    const json = { reviewerRef: reviewer, reason: 'Recalled.', items: itemsOf(encounter) };
    return { target: `POST /encounters/${encounter.encounter_id}/revoke`, json };
  },
  reorder: async () => {
    const { encounter } = await completed();
    return { target: `POST /encounters/${encounter.encounter_id}/reorder`, json: { treatmentIds } };
  },
  recordPayment: async () => {
    const { path, order } = await completed();
    return { target: `POST ${path}/payments`, json: { amount: order.balance_amt } };
  },
  recordFulfilment: async () => {
    const { path, order } = await completed();
    return { target: `POST ${path}/fulfilments`, json: { pharmacyId: order.lines[0].pharmacyId, status: 'accepted' } };
  },
  getEncounter: async () => ({ target: `GET /encounters/${(await completed()).encounter.encounter_id}` }),
  getEncounterStatus: async () => {
    const { encounter_id, order_no } = (await completed()).encounter;
    return { target: 'POST /encounters/status', json: { encounter_id, order_no } };
  },
  getOrder: async () => ({ target: `GET ${(await completed()).path}` }),
  getClearances: async () => {
    const { patientId } = (await completed()).encounter;
    return { target: `GET /clients/${patientId}/clearances?clinicId=${clinicId}&treatmentIds=${treatmentIds.join()}` };
  },
  listEncounters: get('/encounters?limit=2'),
  listOrders: get('/orders?limit=2'),
  listEvents: get('/events'),
  listRenewals: get('/renewals?expiring_before=2100-01-01&limit=2'),
  listReviewQueue: get('/review-queue?limit=2'),
  listClinics: get('/clinics?search=clin'),
  listProducts: get(`/tenants/products?search=prod&clinicId=${clinicId}`),
};

/** Counts the rows of the tenant's patients, encounters and orders. No other tenant has any. */
async function rowsOfTenant(): Promise<number> {
  const clinical = ['client', 'encounter', 'encounter_treatment', 'gfe_item', '"order"', 'order_line'];
  const counts = clinical.map((table) => `(SELECT count(*) FROM ${table})`);
  const { rows } = await observer.query<{ count: number }>(`SELECT (${counts.join(' + ')})::int AS count`);
  return rows[0]?.count ?? NaN;
}

const isRead = ({ text }: Statement): boolean => /^\s*(?:SELECT|WITH)\b/.test(text) && !text.includes('INSERT INTO');

it.each(Object.entries(operations))(
  '%s scans by each read at most twice as many rows as patients, encounters and orders have, while PostgreSQL has no statistics',
  async (_name, prepare) => {
    const { target, json } = await prepare();
    const headers: Record<string, string> = json ? { 'Idempotency-Key': target } : {};
    const statements = await statementsOf(async () => {
      const { status, text } = await call(harness, target, { token, json, headers });
      expect(status < 300 || text).toBe(true);
    });
    const reads = statements.filter(isRead);
    expect(reads.length).toBeGreaterThan(0);
    for (const statement of reads) {
      const scanned = await rowsScanned(observer, statement);
      if (scanned > 2 * (await rowsOfTenant())) throw new Error(`${scanned} rows for ${statement.text}`);
    }
  },
);
