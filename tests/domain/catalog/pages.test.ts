import { newPartner, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { insertRows } from './catalogRows.js';

const ROWS = 90;
const LIMIT = 20;

const clinicSorts = { name: 'name_key', createdAt: 'created_at', updatedAt: 'updated_at' };
/** The columns of each sort. */
const lists = [
  { path: '/clinics', table: 'clinic', listed: 'true', sorts: clinicSorts },
  { path: '/tenants/products', table: 'product', listed: 'NOT is_deleted', sorts: { ...clinicSorts, sku: 'sku_key' } },
];

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  // Seven names, twelve creation times and one time of change, so that ties order most rows.
  await insertRows(harness, partner, ROWS, {
    clinicName: `'Name ' || n % 7`,
    productName: `'Name ' || n % 7`,
    email: `n || '@example.com'`,
    sku: `'S' || n`,
    isActive: 'n % 3 > 0',
    isDeleted: 'n % 11 = 0',
    createdAt: `timestamptz '2026-01-01' + n % 12 * interval '1 day'`,
    updatedAt: `timestamptz '2026-02-01'`,
  });
});
afterAll(() => harness.close());

describe.each(lists)('GET $path', ({ path, table, listed, sorts }) => {
  it.each(Object.entries(sorts))('returns each row on its page, sorted by %s', async (sort, column) => {
    for (const direction of ['asc', 'desc'])
      for (const state of ['', '&isActive=true', '&isActive=false']) {
        const rows = await harness.domain.db.prisma.$queryRawUnsafe<{ id: string }[]>(`
          SELECT id FROM ${table} WHERE tenant_id = '${partner.tenantId}' AND ${listed}
            ${state && `AND ${state.endsWith('true') ? '' : 'NOT '}is_active`}
          ORDER BY ${column} ${direction}, created_at ${sort === 'createdAt' ? direction : 'DESC'}, id`);
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
