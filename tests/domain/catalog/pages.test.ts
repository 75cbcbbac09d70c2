import { newCategory, newPartner, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';

const ROWS = 90;
const LIMIT = 20;

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
  await fill();
});
afterAll(() => harness.close());

/** Seven names, twelve creation times and one time of change, so that ties order most rows. */
async function fill(): Promise<void> {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const { categoryId, subcategoryId } = await newCategory(harness, partner);
  await db.prisma.$executeRaw`
    INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
    SELECT gen_random_uuid(), ${tenantId}, 'Name ' || n % 7, '', n || '@example.com', n % 3 > 0,
      timestamptz '2026-01-01' + n % 12 * interval '1 day', '2026-02-01' FROM generate_series(1, ${ROWS}::int) n`;
  await db.prisma.$executeRaw`
    INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, is_deleted, pharmacy_id, pharmacy_name,
      external_code, category_id, subcategory_id, created_at, updated_at)
    SELECT gen_random_uuid(), ${tenantId}, 'S' || n, 'Name ' || n % 7, '', 1, n % 3 > 0, n % 11 = 0, gen_random_uuid(), '', '',
      ${categoryId}::uuid, ${subcategoryId}::uuid, timestamptz '2026-01-01' + n % 12 * interval '1 day', '2026-02-01'
    FROM generate_series(1, ${ROWS}::int) n`;
  await db.prisma.$executeRaw`
    INSERT INTO product_offer (id, tenant_id, product_id, price, qty, qty_alert, shipping_type, shipping_amount, vendor_cost,
      cogs, created_at, updated_at)
    SELECT gen_random_uuid(), tenant_id, id, 1, 1, 1, 'FREE_SHIPPING', 0, 0, 0, now(), now() FROM product
    WHERE tenant_id = ${tenantId}`;
}

describe.each(lists)('GET $path', ({ path, table, listed, sorts }) => {
  it.each(sorts)('returns each row on its page when sorted by %s, counted from either end', async (sort) => {
    for (const direction of ['asc', 'desc'])
      for (const state of ['', '&isActive=true', '&isActive=false']) {
        const rows = await harness.domain.db.prisma.$queryRawUnsafe<{ id: string }[]>(`
          SELECT id FROM ${table} WHERE tenant_id = '${partner.tenantId}' AND ${listed}
            ${state && `AND ${state.endsWith('true') ? '' : 'NOT '}is_active`}
          ORDER BY ${columns[sort]} ${direction}, created_at ${sort === 'createdAt' ? direction : 'DESC'}, id`);
        const ids = rows.map(({ id }) => id);
        const pastTheEnd = Math.ceil(ids.length / LIMIT) + 1;
        for (let page = 1; page <= pastTheEnd; page += 1) {
          const query = `sort_by=${sort}&sort_order=${direction}${state}&limit=${LIMIT}&page=${page}`;
          const { body } = await call(harness, `GET ${path}?${query}`, { token: partner.token });
          const found = body.data.map(({ id }: { id: string }) => id);
          expect({ query, found }).toEqual({ query, found: ids.slice((page - 1) * LIMIT, page * LIMIT) });
        }
      }
  });
});
