import { newCategory, newPartner, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';

/** So many clinics and products: marks are made of each thousandth. */
const ROWS = 2_500;

const lists = [
  { path: '/clinics', table: 'clinic', listed: 'true', sorts: ['name', 'createdAt', 'updatedAt'] },
  {
    path: '/tenants/products',
    table: 'product',
    listed: 'NOT is_deleted',
    sorts: ['name', 'sku', 'createdAt', 'updatedAt'],
  },
];
const columns: Record<string, string> = {
  name: 'name_key',
  sku: 'sku_key',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
};

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  await fill(1, ROWS);
});
afterAll(() => harness.close());

/** Seven names, twelve moments of creation and one of change: nearly all are equals, also on both sides of a mark. */
async function fill(from: number, to: number): Promise<void> {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const { categoryId, subcategoryId } = await newCategory(harness, partner);
  await db.$executeRaw`
    INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
    SELECT gen_random_uuid(), ${tenantId}, 'Name ' || n % 7, '', n || '@example.com', n % 3 > 0,
      timestamptz '2026-01-01' + n % 12 * interval '1 day', '2026-02-01' FROM generate_series(${from}::int, ${to}::int) n`;
  await db.$executeRaw`
    INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, is_deleted, pharmacy_id, pharmacy_name,
      external_code, category_id, subcategory_id, created_at, updated_at)
    SELECT gen_random_uuid(), ${tenantId}, 'S' || n, 'Name ' || n % 7, '', 1, n % 3 > 0, n % 11 = 0, gen_random_uuid(), '', '',
      ${categoryId}::uuid, ${subcategoryId}::uuid, timestamptz '2026-01-01' + n % 12 * interval '1 day', '2026-02-01'
    FROM generate_series(${from}::int, ${to}::int) n`;
  await db.$executeRaw`
    INSERT INTO product_offer (id, tenant_id, product_id, price, qty, qty_alert, shipping_type, shipping_amount, vendor_cost,
      cogs, created_at, updated_at)
    SELECT gen_random_uuid(), tenant_id, id, 1, 1, 1, 'FREE_SHIPPING', 0, 0, 0, now(), now() FROM product
    WHERE tenant_id = ${tenantId} AND NOT EXISTS (SELECT FROM product_offer AS o WHERE o.product_id = product.id)`;
}

/** The ids in each order, as the database sorts them, compared with the pages around each mark and at the end. */
async function expectPages(limit: number): Promise<void> {
  const { db } = harness.domain;
  for (const { path, table, listed, sorts } of lists)
    for (const sort of sorts)
      for (const direction of ['asc', 'desc'])
        for (const state of ['', '&isActive=true', '&isActive=false']) {
          const rows = await db.$queryRawUnsafe<{ id: string }[]>(`
            SELECT id FROM ${table} WHERE tenant_id = '${partner.tenantId}' AND ${listed}
              ${state && `AND ${state.endsWith('true') ? '' : 'NOT '}is_active`}
            ORDER BY ${columns[sort]} ${direction}, created_at ${sort === 'createdAt' ? direction : 'DESC'}, id`);
          const ids = rows.map(({ id }) => id);
          const last = Math.ceil(ids.length / limit);
          const pages = [1_000, 2_000].flatMap((mark) => [Math.floor(mark / limit), Math.ceil(mark / limit) + 1]);
          for (const page of new Set([1, ...pages.filter((at) => at < last), last, last + 1])) {
            const query = `sort_by=${sort}&sort_order=${direction}${state}&limit=${limit}&page=${page}`;
            const { body } = await call(harness, `GET ${path}?${query}`, { token: partner.token });
            const found = body.data.map(({ id }: { id: string }) => id);
            expect({ query, found }).toEqual({ query, found: ids.slice((page - 1) * limit, page * limit) });
          }
        }
}

it('a page far back is what the order says, in each order and state', () => expectPages(70));

it('a page far back is what the order says after concurrent changes, one of them undone, one of few rows', async () => {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const undone = db.$transaction(async (inside) => {
    await inside.clinic.updateMany({ where: { tenantId }, data: { isActive: false } });
    throw new Error('undone');
  });
  await Promise.all([
    fill(ROWS + 1, ROWS + 200),
    db.$executeRaw`UPDATE clinic SET is_active = NOT is_active WHERE tenant_id = ${tenantId} AND email LIKE '%4@%'`,
    db.$executeRaw`UPDATE product SET is_deleted = NOT is_deleted WHERE tenant_id = ${tenantId} AND sku LIKE '%4'`,
    expect(undone).rejects.toThrow('undone'),
  ]);
  await db.$executeRaw`UPDATE clinic SET legal_name = '!' WHERE tenant_id = ${tenantId} AND email = '1@example.com'`;
  await db.$executeRaw`UPDATE product SET updated_at = now() WHERE tenant_id = ${tenantId} AND sku = 'S1'`;
  await expectPages(100);
});
