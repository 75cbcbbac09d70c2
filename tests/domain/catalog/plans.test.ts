import { everyCase } from '../../support/everyCase.js';
import { newPartner, type Partner } from '../../support/factories.js';
import { call } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { ownStatementsOf, scansOf, type Scan, type Statement } from '../../support/statements.js';
import { words } from '../../support/words.js';
import { insertRows } from './catalogRows.js';

// Query plans of lists, in a database with one tenant of 20,000 clinics and products, and with smaller tenants.

/** The tables with more than 20,000 rows. */
const tables = ['clinic', 'clinic_location', 'product', 'product_offer'];
const { harness: crowded, observer } = await openObservedHarness();
const [large, small] = [await newPartner(crowded), await newPartner(crowded)];

/** Names have one word in common, e-mails and SKUs are hashes, and times have no order. */
const expressions = {
  clinicName: `'Clinic ' || md5('a' || n)`,
  email: `md5('b' || n) || '@example.com'`,
  productName: `'Product ' || md5('d' || n)`,
  sku: `md5('c' || n)`,
  isActive: 'n % 200 < 97',
  createdAt: `now() - n % 40 * interval '1 day'`,
  updatedAt: `now() - n * 7919 % 20000 * interval '1 minute'`,
};

const fill = (partner: Partner, rows: number) =>
  insertRows(crowded, partner, rows, expressions, (statement) => observer.query(statement));
await fill(large, 20_000);
for (let number = 0; number < 10; number += 1) await fill(await newPartner(crowded), 100);
await fill(small, 50);
await observer.query('VACUUM ANALYZE');

async function statementsFor(path: string, { token }: Partner): Promise<Statement[]> {
  const statements = await ownStatementsOf(async () => {
    expect((await call(crowded, `GET ${path}`, { token })).status).toBe(200);
  });
  expect(statements).not.toEqual([]);
  return statements;
}

/** The scans of the large tables for one request, by statement. */
async function scans(path: string, caller: Partner): Promise<{ text: string; read: Scan[] }[]> {
  const scanned = [];
  for (const statement of await statementsFor(path, caller)) {
    const read = await scansOf(observer, statement);
    scanned.push({ text: statement.text, read: read.filter(({ table }) => tables.includes(table ?? '')) });
  }
  return scanned;
}

/** The elements of a page are read by their keys. */
const elementScans: Record<string, Scan[]> = {
  clinic: [
    { table: 'clinic', index: 'clinic_pkey' },
    { table: 'clinic_location', index: 'clinic_location_tenant_id_clinic_id_name_key' },
  ],
  product: [
    { table: 'product', index: 'product_pkey' },
    { table: 'product_offer', index: 'product_offer_tenant_id_product_id_key' },
    { table: 'clinic', index: 'clinic_pkey' },
  ],
};

/** The numbers of active and of inactive clinics are counted in an index. */
const statsScans: Record<string, Scan[]> = { clinic: [{ table: 'clinic', index: 'clinic_name_idx' }] };

/** Indexes that find rows by their tenant, or by the key of a row that was found by its tenant. */
async function boundedIndexes(): Promise<string[]> {
  const { rows } = await observer.query<{ name: string }>(`SELECT indexrelid::regclass::text AS name FROM pg_index
    JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] WHERE attname = 'tenant_id' OR indisprimary`);
  return rows.map(({ name }) => name);
}

it.each([
  ['/clinics', 'legalName', 'clinic', 'clinic_search_idx'],
  ['/clinics', 'email', 'clinic', 'clinic_search_idx'],
  ['/tenants/products', 'name', 'product', 'product_search_idx'],
  ['/tenants/products', 'sku', 'product', 'product_search_idx'],
])(
  'a search of %s by part of %s uses the search index, in one statement for elements and total',
  async (path, member, table, index) => {
    const { body } = await call(crowded, `GET ${path}?limit=1&page=77`, { token: large.token });
    const needle = body.data[0][member].slice(10, 22).toUpperCase();
    const parts = `${needle.slice(7)}%20${needle.slice(0, 6)}%20${needle.slice(0, 2)}`;
    for (const search of [needle, parts]) {
      const answer = await call(crowded, `GET ${path}?search=${search}`, { token: large.token });
      expect(answer.body.data).toEqual(body.data);
    }
    const searches = (await scans(`${path}?search=${parts}`, large)).filter(({ text }) => text.includes('LIKE ALL'));
    const read = [{ table, index }, ...(elementScans[table] ?? []), ...(statsScans[table] ?? [])];
    expect(searches.map((statement) => statement.read)).toEqual([read]);
    expect(await boundedIndexes()).toContain(index);
  },
);

const sorted: [string, string, string][] = [
  ['/clinics', 'clinic', 'clinic_name_idx'],
  ['/clinics?isActive=true', 'clinic', 'clinic_name_idx'],
  ['/clinics?sort_order=desc', 'clinic', 'clinic_name_desc_idx'],
  ['/clinics?sort_by=createdAt', 'clinic', 'clinic_tenant_id_created_at_id_idx'],
  ['/clinics?sort_by=createdAt&sort_order=desc', 'clinic', 'clinic_created_desc_idx'],
  ['/clinics?sort_by=updatedAt', 'clinic', 'clinic_updated_idx'],
  ['/clinics?sort_by=updatedAt&sort_order=desc', 'clinic', 'clinic_updated_desc_idx'],
  ['/tenants/products', 'product', 'product_name_idx'],
  ['/tenants/products?isActive=true', 'product', 'product_name_idx'],
  ['/tenants/products?sort_order=desc', 'product', 'product_name_desc_idx'],
  ['/tenants/products?sort_by=sku', 'product', 'product_tenant_id_is_deleted_sku_key_created_at_id_idx'],
  ['/tenants/products?sort_by=sku&sort_order=desc', 'product', 'product_sku_desc_idx'],
  ['/tenants/products?sort_by=createdAt', 'product', 'product_tenant_id_is_deleted_created_at_id_idx'],
  ['/tenants/products?sort_by=createdAt&sort_order=desc', 'product', 'product_created_desc_idx'],
  ['/tenants/products?sort_by=updatedAt', 'product', 'product_updated_idx'],
  ['/tenants/products?sort_by=updatedAt&sort_order=desc', 'product', 'product_updated_desc_idx'],
];
it('listClinics and listProducts read their table in the order of an index', () =>
  everyCase(sorted, String, async ([path, table, index]) => {
    const [page, ...others] = (await scans(path, large)).filter(({ text }) => text.includes('OFFSET'));
    expect(others).toEqual([]);
    expect(page?.read).toEqual(expect.arrayContaining([{ table, index }, ...(elementScans[table] ?? [])]));
    // The total may be counted in another index that begins with the tenant.
    const bounded = await boundedIndexes();
    for (const scan of page?.read ?? []) expect(bounded).toContain(scan.index);
  }));

it('the service runs its statements with generic plans', async () => {
  const [session] = await crowded.domain.db.prisma.$queryRaw<object[]>`SHOW plan_cache_mode`;
  expect(session).toEqual({ plan_cache_mode: 'force_generic_plan' });
});

it.each([
  ['without a search', ''],
  ['with a word of every name', '&search=clinic'],
])('GET /clinics?state=, %s, finds the clinics by an index of states', async (_how, search) => {
  const statements = (await scans(`/clinics?state=wy${search}`, large)).filter(({ text }) =>
    text.includes('ref_state'),
  );
  const states = { table: 'clinic_location', index: 'clinic_location_tenant_id_state_clinic_id_idx' };
  const read = statements.flatMap((statement) => statement.read).slice(0, -1);
  const found = [states, { table: 'clinic', index: 'clinic_pkey' }];
  const parts = elementScans['clinic'] ?? [];
  expect(read).toEqual(expect.arrayContaining([...found, ...parts]));
  expect([...found, ...parts]).toEqual(expect.arrayContaining(read));
});

const paths = words(`
    /clinics /clinics?search=clinic /clinics?search=q /clinics?state=tx /clinics?state=texas
    /clinics?state=tx&search=clinic /clinics?isActive=true /clinics?sort_by=createdAt
    /clinics?sort_by=updatedAt&sort_order=desc /clinics?page=3 /tenants/products /tenants/products?search=product
    /tenants/products?search=q /tenants/products?isActive=false /tenants/products?sort_by=sku /tenants/products?page=3
    /tenants/products?sort_by=updatedAt /tenants/products?categoryId=CATEGORY /tenants/products?clinicId=CLINIC`);
it('listClinics and listProducts read large tables only through primary keys and indexes that begin with the tenant', async () => {
  const { db } = crowded.domain;
  const where = { tenantId: small.tenantId };
  const clinic = await db.prisma.clinic.findFirstOrThrow({ where });
  const category = await db.prisma.category.findFirstOrThrow({ where });
  const bounded = await boundedIndexes();
  await everyCase(paths, String, async (path) => {
    const own = path.replace('CLINIC', clinic.id).replace('CATEGORY', category.id);
    for (const { read } of await scans(own, small)) {
      for (const { index } of read) expect(bounded).toContain(index);
    }
  });
});
