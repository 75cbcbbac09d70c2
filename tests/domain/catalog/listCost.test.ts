import { newCategory, newClinic, newPartner, newProduct } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { ownStatementsOf } from '../../support/statements.js';

const harness = await openHarness();
/** Has 100 clinics and 100 products with all nested elements. */
const partner = await newPartner(harness);
const group = await newCategory(harness, partner);
const places = ['TX', 'OK'].map((state) => ({ state, timezone: null }));
const clinics = await Promise.all(Array.from({ length: 100 }, () => newClinic(harness, partner, { places })));
/** A clinic where every product is available. */
const clinic = clinics[0] ?? '';
const availability = clinics.slice(0, 3).map((clinicId) => ({ clinicId, isActive: true }));
const product = { ...group, isRx: true, availability };
await Promise.all(Array.from({ length: 100 }, () => newProduct(harness, partner, product)));
await harness.domain.db.prisma.$executeRaw`
    INSERT INTO offer_variant (id, tenant_id, product_offer_id, name, sku, price, qty, is_active, created_at, updated_at)
    SELECT gen_random_uuid(), tenant_id, id, sku, sku, 1, 1, true, now(), now()
    FROM product_offer, unnest(ARRAY['A', 'B']) sku WHERE tenant_id = ${partner.tenantId}`;

/** The number of SQL statements of one request, after a first one that authenticates the caller. */
async function costOf(target: string, length: number): Promise<number> {
  const ask = async () => {
    const { status, body } = await call(harness, target, { token: partner.token });
    expect(status).toBe(200);
    if (body.data) expect(body.data).toHaveLength(length);
  };
  await ask();
  return (await ownStatementsOf(ask)).length;
}

describe('the number of SQL statements, without that of the audit,', () => {
  it.each([
    ['GET /clinics', 1],
    ['GET /clinics?state=tx&search=c&isActive=true&sort_by=updatedAt', 1],
    ['GET /tenants/products', 1],
    ['GET /tenants/products?clinicId=CLINIC&search=p&isActive=true&sort_by=sku', 1],
  ])('for %s is %i, with 1 element and with 100', async (target, statements) => {
    const list = target.replace('CLINIC', clinic);
    const page = (limit: number) => `${list}${list.includes('?') ? '&' : '?'}limit=${limit}`;
    expect([await costOf(page(1), 1), await costOf(page(100), 100)]).toEqual([statements, statements]);
  });
});
