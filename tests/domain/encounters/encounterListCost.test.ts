import type { Client } from 'pg';
import { newCategory, newClient, newClinic, newPartner, newPatient, type Partner } from '../../support/factories.js';
import type { Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { startObservedHarness, type ObservedHarness } from '../../support/observedHarness.js';
import { genericPlan, ownStatementsOf, type Statement } from '../../support/statements.js';

const ENCOUNTERS = 20_000;

let service: ObservedHarness;
let harness: Harness;
let observer: Client;
/** A tenant with thousands of encounters, one a minute, of many clinics and patients. */
let large: Partner;
/** A client of that tenant that is limited to one clinic. */
let limited: Partner;
let clinicId: string;
let patientId: string;
beforeAll(async () => {
  service = await startObservedHarness();
  ({ harness, observer } = service);
  large = await newPartner(harness);
  const { categoryId, subcategoryId } = await newCategory(harness, large);
  clinicId = await newClinic(harness, large);
  patientId = await newPatient(harness, large);
  limited = await newClient(harness, large.tenantId, undefined, [clinicId]);
  // Without constraints, which would only slow the inserts down.
  await observer.query('SET session_replication_role = replica');
  await observer.query(
    `
    INSERT INTO encounter (id, tenant_id, status, clinic_id, patient_id, review_type, service_queue, sub_total,
      total_shipping_amt, grand_total, claimable_from, expires_at, created_at, updated_at, completed_at)
    SELECT gen_random_uuid(), $1, (CASE WHEN n % 50 = 0 THEN 'pending_review' ELSE 'denied' END)::encounter_status,
      CASE WHEN n % 20 = 0 THEN $2 ELSE md5('clinic' || n % 97)::uuid END,
      CASE WHEN n % 500 = 0 THEN $3 ELSE md5('patient' || n % 1999)::uuid END,
      'asynchronous', 'provider_network', 1, 0, 1, t, timestamptz '2027-01-01', t, t, CASE WHEN n % 50 = 0 THEN NULL ELSE t END
    FROM generate_series(1, ${ENCOUNTERS}) n, LATERAL (SELECT timestamptz '2026-01-01' + n * interval '1 minute' AS t) AS at`,
    [large.tenantId, clinicId, patientId],
  );
  await observer.query(
    `
    INSERT INTO gfe_item (id, tenant_id, encounter_id, position, category_id, category_name, subcategory_id,
      sub_category_name, review_often, review_recurring, status)
    SELECT gen_random_uuid(), tenant_id, id, 0, $1, '', $2, '', 'YEARLY', true, 'pending_review' FROM encounter`,
    [categoryId, subcategoryId],
  );
  await observer.query(`
    INSERT INTO encounter_treatment (id, tenant_id, encounter_id, product_id, position, sku, name, price, shipping_type,
      shipping_amount, pharmacy_id, pharmacy_name, category_id, category_name, subcategory_id, sub_category_name)
    SELECT gen_random_uuid(), tenant_id, encounter_id, gen_random_uuid(), 0, '', '', 1, 'FREE_SHIPPING', 0,
      gen_random_uuid(), '', category_id, '', subcategory_id, '' FROM gfe_item`);
  await observer.query('ANALYZE');
});
afterAll(() => service.close());

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The number of rows of encounters and their parts that PostgreSQL reads for a statement. */
async function rowsRead(statement: Statement): Promise<number> {
  const below = (node: PlanNode): number => {
    const own = ['encounter', 'encounter_treatment', 'gfe_item'].includes(node['Relation Name'] ?? '')
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0;
    return (node.Plans ?? []).reduce((sum, child) => sum + below(child), own);
  };
  return below(await genericPlan<PlanNode>(observer, 'ANALYZE, FORMAT JSON', statement));
}

const after = (minute: number): string =>
  Buffer.from(`${new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()} 999999999`).toString('base64url');

/** Expects a page of ten encounters to be one statement that reads little more than the page. */
async function expectCheap(target: string, { token }: Partner, maxRows = 60): Promise<void> {
  const ask = async () => {
    const { status, body } = await call(harness, target, { token });
    expect([status, body.data.length]).toEqual([200, 10]);
  };
  await ask();
  const statements = await ownStatementsOf(ask);
  expect(statements).toHaveLength(1);
  // Eleven encounters (the last tells whether more follow), each with an item and a treatment, and some filtered rows.
  for (const statement of statements) expect(await rowsRead(statement)).toBeLessThanOrEqual(maxRows);
}

const FAR_BACK = after(ENCOUNTERS / 2);

it.each<[filter: string, query: () => object, as?: () => Partner]>([
  ['without a filter', () => ({})],
  ['far back in the list', () => ({ cursor: FAR_BACK })],
  ['filtered by a rare status', () => ({ status: 'pending_review' })],
  ['filtered by status, far back', () => ({ status: 'pending_review', cursor: FAR_BACK })],
  ['filtered by clinic', () => ({ clinicId })],
  ['filtered by clinic, far back', () => ({ clinicId, cursor: FAR_BACK })],
  ['filtered by clinic and status', () => ({ clinicId, status: 'pending_review' })],
  ['filtered by patient', () => ({ patientId })],
  ['filtered by patient and clinic', () => ({ patientId, clinicId })],
  [
    'filtered by patient and created_after, far back',
    () => ({ patientId, created_after: '2026-01-02T00:00:00Z', cursor: FAR_BACK }),
  ],
  ['for a client that is limited to a clinic', () => ({}), () => limited],
  ['for a limited client, filtered by status', () => ({ status: 'pending_review' }), () => limited],
])('listEncounters %s reads little more than the page, in one statement', async (_filter, query, as = () => large) => {
  await expectCheap(`GET /encounters?${new URLSearchParams({ ...query(), limit: '10' })}`, as());
});

it('listReviewQueue reads little more than the head of the queue, in one statement for every short page', async () => {
  const head = (limit: number): string => `GET /review-queue?serviceQueue=provider_network&limit=${limit}`;
  // Every page of up to twenty reads twenty-one encounters, so that they share one prepared statement.
  await expectCheap(head(10), large, 90);
  const textsOf = async (limit: number): Promise<string[]> =>
    (await ownStatementsOf(() => call(harness, head(limit), large))).map(({ text }) => text);
  expect(await textsOf(1)).toEqual(await textsOf(20));
  expect(await textsOf(21)).toEqual(await textsOf(100));
});
