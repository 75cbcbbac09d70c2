import { newCategory, newClinic, newPartner, newPatient, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { ownStatementsOf } from '../../support/statements.js';

let harness: Harness;
/** Has 100 clinics and 100 products with all nested elements. */
let partner: Partner;
/** A clinic where every product is available. */
let clinic: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const group = await newCategory(harness, partner);
  const places = [
    { state: 'TX', timezone: null },
    { state: 'OK', timezone: null },
  ];
  const clinics = await Promise.all(Array.from({ length: 100 }, () => newClinic(harness, partner, { places })));
  clinic = clinics[0] ?? '';
  const availability = clinics.slice(0, 3).map((clinicId) => ({ clinicId, isActive: true }));
  const product = { ...group, isRx: true, availability };
  await Promise.all(Array.from({ length: 100 }, () => newProduct(harness, partner, product)));
  const { domain } = harness;
  const times = { createdAt: domain.now(), updatedAt: domain.now() };
  const offers = await domain.db.prisma.productOffer.findMany({ where: { tenantId: partner.tenantId } });
  await domain.db.prisma.offerVariant.createMany({
    data: offers.flatMap(({ tenantId, id: productOfferId }) =>
      ['A', 'B'].map((sku) => ({
        id: domain.newId(),
        tenantId,
        productOfferId,
        name: sku,
        sku,
        price: '1',
        qty: 1,
        isActive: true,
        ...times,
      })),
    ),
  });
});
afterAll(() => harness.close());

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

describe('the number of SQL statements', () => {
  it.each([
    ['GET /clinics', 1],
    ['GET /clinics?state=tx&search=c&isActive=true&sort_by=updatedAt', 1],
    ['GET /tenants/products', 1],
    ['GET /tenants/products?clinicId=CLINIC&search=p&isActive=true&sort_by=sku', 1],
  ])('of %s is %i for 1 element and for 100', async (target, statements) => {
    const list = target.replace('CLINIC', clinic);
    const page = (limit: number) => `${list}${list.includes('?') ? '&' : '?'}limit=${limit}`;
    expect([await costOf(page(1), 1), await costOf(page(100), 100)]).toEqual([statements, statements]);
  });

  it('of findPatients and getPatient is 1, with or without a state', async () => {
    await newPatient(harness, partner, { email: 'cheap@example.com' });
    expect(await costOf('GET /clients?email=cheap@example.com', 1)).toBe(1);
    expect(await costOf(`GET /clients/${await newPatient(harness, partner)}`, 1)).toBe(1);
    const stateId = '01a05c32-5e80-7000-8000-000000005048';
    expect(await costOf(`GET /clients/${await newPatient(harness, partner, { stateId })}`, 1)).toBe(1);
  });
});
