import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { applyRetention } from '../../../src/jobs/index.js';
import { newEncounter, newPartner, newPatient, type Partner } from '../../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../../support/fileHost.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { rowsOf } from '../../support/migrations.js';
import { pay } from '../../support/orders.js';
import { fulfil } from '../../support/shipments.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { cancelled, claimedEncounter, completedEncounter, deny, reviewed } from '../../support/reviews.js';

let database: TestDatabase;
let harness: Harness;
let files: FileHost;
let partner: Partner;
beforeAll(async () => {
  [database, files] = await Promise.all([createTestDatabase(), startFileHost()]);
  // With the rights of the service's role only.
  const { serviceUrl: databaseUrl } = database;
  harness = await startHarness({ databaseUrl, environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host } });
  partner = await newPartner(harness);
});
afterAll(async () => {
  await Promise.all([harness.close(), files.close()]);
  await database.drop();
});

type Settings = Partial<Harness['services']['config']['retention']>;

async function run(settings: Settings): Promise<void> {
  const { domain, services } = harness;
  const config = { retention: { documentDays: null, encounterDays: null, ...settings } };
  const { signal } = new AbortController();
  await applyRetention({ ...domain, objects: services.objects, log: services.log, config, signal });
}

const [longAgo, listOf] = [
  `now() - interval '100 days'`,
  (ids: readonly string[]) => ids.map((id) => `'${id}'`).join(', '),
];
/** Ages records by 100 days. */
const age = (table: 'encounter' | 'document', ...ids: readonly string[]): Promise<unknown> =>
  rowsOf(
    database.url,
    `UPDATE ${table} SET created_at = ${longAgo}, updated_at = ${longAgo} WHERE id IN (${listOf(ids)})`,
  );
/** Ages the orders of encounters, with their lines. */
async function ageOrders(...ids: readonly string[]): Promise<void> {
  const orders = `SELECT id FROM "order" WHERE encounter_id IN (${listOf(ids)})`;
  await rowsOf(database.url, `UPDATE order_line SET updated_at = ${longAgo} WHERE order_id IN (${orders})`);
  await rowsOf(database.url, `UPDATE "order" SET updated_at = ${longAgo} WHERE id IN (${orders})`);
}
/** The ids of the rows of a table, in the order of their creation. */
const remaining = async (table: 'encounter' | 'document'): Promise<unknown[]> =>
  (await rowsOf(database.url, `SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id);
const endApprovals = ({ id }: Answer['body']): Promise<unknown> =>
  rowsOf(database.url, `UPDATE gfe_item SET valid_until = now() - interval '1 s' WHERE encounter_id = '${id}'`);

async function paid(encounter: Answer['body']): Promise<Answer['body']> {
  const { body } = await call(harness, `GET /orders/${encounter.order_no}`, partner);
  expect((await pay(harness, partner, encounter.order_no, { amount: body.balance_amt })).status).toBe(201);
  return encounter;
}

it('retention removes encounters that ended more than encounterDays ago, except those with an approval in force or an order that is unpaid, on its way or has changed since', async () => {
  const completed = await paid(await completedEncounter(harness, partner));
  await endApprovals(completed);
  const denied = await reviewed(harness, partner, await newEncounter(harness, partner), deny);
  const newCancelled = async () => cancelled(harness, partner, await newEncounter(harness, partner));
  const ended = [completed, denied, await newCancelled()];
  const unpaid = await completedEncounter(harness, partner);
  await endApprovals(unpaid);
  const open = [await newEncounter(harness, partner), await claimedEncounter(harness, partner)];
  const inForce = await paid(await completedEncounter(harness, partner));
  const shipped = await paid(await completedEncounter(harness, partner));
  await fulfil(harness, partner, shipped.order_no, 'accepted', 'shipped');
  const changed = await paid(await completedEncounter(harness, partner));
  await Promise.all([endApprovals(shipped), endApprovals(changed)]);
  await age('encounter', ...[...ended, unpaid, ...open, inForce, shipped, changed].map(({ id }) => id));
  await ageOrders(completed.id, unpaid.id, inForce.id, shipped.id);
  const young = await newCancelled();
  const before = await remaining('encounter');
  await run({});
  await run({ encounterDays: 101 });
  expect(await remaining('encounter')).toEqual(before);
  await run({ encounterDays: 99 });
  expect(await remaining('encounter')).toEqual([unpaid, ...open, inForce, shipped, changed, young].map(({ id }) => id));
  await run({ encounterDays: 99 });
  expect(await remaining('encounter')).toHaveLength(7);
  expect((await call(harness, `GET /encounters/${completed.encounter_id}`, partner)).status).toBe(404);
  expect((await call(harness, `GET /orders/${completed.order_no}`, partner)).status).toBe(404);
});

it('retention removes documents older than documentDays with their objects, and keeps those that an encounter names', async () => {
  const patientId = await newPatient(harness, partner);
  const uploaded = async (): Promise<{ id: string; file: string }> => {
    const json = { url: files.serve(`/${harness.domain.newId()}.pdf`, { content: sampleFiles.pdf }) };
    const target = `POST /clients-documents/${patientId}/upload-url/lab-results`;
    const { body } = await call(harness, target, { token: partner.token, json });
    return { id: body.documentId, file: join(harness.dataDir, 'documents', body.userDocument.blobPath) };
  };
  const [old, used, young] = [await uploaded(), await uploaded(), await uploaded()];
  const encounter = await newEncounter(harness, partner, { patientId, documentIds: [used.id] });
  await age('document', old.id, used.id);
  await run({});
  expect(await remaining('document')).toEqual([old.id, used.id, young.id]);
  await run({ documentDays: 99 });
  expect(await remaining('document')).toEqual([used.id, young.id]);
  await expect(access(old.file)).rejects.toThrow('ENOENT');
  await Promise.all([access(used.file), access(young.file)]);

  await cancelled(harness, partner, encounter);
  await age('encounter', encounter.id);
  await run({ encounterDays: 99, documentDays: 99 });
  expect(await remaining('document')).toEqual([young.id]);
});
