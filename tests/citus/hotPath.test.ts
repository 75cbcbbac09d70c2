import { encounterBody, newPartner } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { createTestDatabase } from '../support/postgres.js';
import { claimedEncounter, completedEncounter, reviewer } from '../support/reviews.js';

const database = await createTestDatabase();
const harness = await startHarness({ databaseUrl: database.serviceUrl });
afterAll(async () => {
  await harness.close();
  await database.drop();
});
const partner = await newPartner(harness);
const { token } = partner;
const { encounter_id: encounterId, order_no: orderNo, patientId } = await completedEncounter(harness, partner);
const claimed = await claimedEncounter(harness, partner);
const body = await encounterBody(harness, partner);

/** Statements that ran on several shards, and on one, so far. */
async function spread(): Promise<{ several: number; one: number }> {
  const [counts] = await rowsOf(
    database.url,
    `SELECT query_execution_multi_shard::int AS several, query_execution_single_shard::int AS one
      FROM citus_stat_counters WHERE name = current_database()`,
  );
  return counts as Awaited<ReturnType<typeof spread>>;
}

const get = (target: string) => async () => (await call(harness, `GET ${target}`, { token })).status;
const operations: readonly (readonly [string, () => Promise<number>])[] = [
  ['getPatient', get(`/clients/${patientId}`)],
  ['getEncounter', get(`/encounters/${encounterId}`)],
  ['getChart', get(`/encounters/${claimed.encounter_id}/chart?reviewerRef=${reviewer}`)],
  ['getOrder', get(`/orders/${orderNo}`)],
  ['listEncounters', get('/encounters')],
  ['listReviewQueue', get('/review-queue')],
  ['listOrders', get('/orders')],
  ['listClinics', get('/clinics?search=clin')],
  ['listProducts', get(`/tenants/products?search=prod&clinicId=${body.clinicId}`)],
  ['listEvents', get('/events')],
  ['listRenewals', get('/renewals?expiring_before=2100-01-01')],
  ['listAuditEvents', get('/audit-events')],
];

it.each(operations)('%s runs each statement on one shard', async (_name, run) => {
  const before = await spread();
  expect(await run()).toBe(200);
  const after = await spread();
  expect(after).toEqual({ ...before, one: after.one });
  expect(after.one).toBeGreaterThan(before.one);
});
