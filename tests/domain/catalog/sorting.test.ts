import { everyCase } from '../../support/everyCase.js';
import { newCategory, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { offersOf } from './catalogRows.js';

const day = (number: number) => new Date(Date.UTC(2026, 0, number));

/**
 * Number (the ids have its order), name, sku, day of creation, day of the last change; stored in this order, which no
 * request asks for.
 */
const rows: [number, string, string, number, number][] = [
  [9, 'beta', 'Sku', 3, 9],
  [3, 'Beta', 'sku', 3, 9],
  [7, 'ALPHA', 'abc', 5, 6],
  [6, 'BETA', 'SKU', 3, 9],
  [1, 'alpha', 'ABC', 2, 6],
  [8, 'beta', 'sKU', 4, 9],
  [5, 'gamma', 'z9', 1, 7],
  [4, '-gamma', 'Z9', 1, 8],
  [2, 'Zeta', '-0', 6, 5],
];

const harness = await openHarness();
const partner = await newPartner(harness);
const { tenantId } = partner;
const { db } = harness.domain;
const { categoryId, subcategoryId } = await newCategory(harness, partner);
for (const [number, name, sku, created, updated] of rows) {
  const id = `01a10caf-a4c0-7000-8000-${String(number).padStart(12, '0')}`;
  // The other members have the opposite order, so that sorting by one of them fails the test.
  const contrary = String(9 - number);
  const email = `${contrary}@example.com`;
  await db.prisma.$executeRaw`
      INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
      VALUES (${id}::uuid, ${tenantId}, ${name}, ${contrary}, ${email}, true, ${day(created)}, ${day(updated)})`;
  await db.prisma.$executeRaw`
      INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, pharmacy_id, pharmacy_name,
        external_code, category_id, subcategory_id, created_at, updated_at)
      VALUES (${id}::uuid, ${tenantId}, ${sku}, ${name}, ${contrary}, ${contrary}::numeric, true, ${id}::uuid,
        ${contrary}, ${contrary}, ${categoryId}::uuid, ${subcategoryId}::uuid, ${day(created)}, ${day(updated)})`;
}
await db.prisma.$executeRawUnsafe(offersOf(partner));

const order = async (path: string, query: string): Promise<number[]> => {
  const { status, body } = await call(harness, `GET ${path}?${query}`, { token: partner.token });
  expect(status).toBe(200);
  return body.data.map(({ id }: { id: string }) => Number(id.slice(-12)));
};

// Among equals the newest comes first, then the smaller id, in both directions.
const byName = [4, 7, 1, 8, 3, 6, 9, 5, 2];
const byNameDown = [2, 5, 8, 3, 6, 9, 7, 1, 4];
const shared: [string, number[]][] = [
  ['', byName],
  ['sort_order=asc', byName],
  ['sort_by=name', byName],
  ['sort_order=desc', byNameDown],
  ['sort_by=name&sort_order=desc', byNameDown],
  ['sort_by=createdAt', [4, 5, 1, 3, 6, 9, 8, 7, 2]],
  ['sort_by=createdAt&sort_order=desc', [2, 7, 8, 3, 6, 9, 1, 4, 5]],
  ['sort_by=updatedAt', [2, 7, 1, 5, 4, 8, 3, 6, 9]],
  ['sort_by=updatedAt&sort_order=desc', [8, 3, 6, 9, 4, 5, 7, 1, 2]],
];

it('clinics are ordered by the sort of the request, by legal name by default', () =>
  everyCase(shared, String, async ([query, ids]) => expect(await order('/clinics', query)).toEqual(ids)));

const bySku: [string, number[]][] = [
  ['sort_by=sku', [2, 7, 1, 8, 3, 6, 9, 4, 5]],
  ['sort_by=sku&sort_order=desc', [4, 5, 8, 3, 6, 9, 7, 1, 2]],
];
it('products are ordered by the sort of the request, by name by default', () =>
  everyCase([...shared, ...bySku], String, async ([query, ids]) => {
    expect(await order('/tenants/products', query)).toEqual(ids);
  }));
