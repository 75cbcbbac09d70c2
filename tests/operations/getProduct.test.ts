import { newCategory, newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const get = (id: string, { token } = partner) => call(harness, `GET /tenants/products/${id}`, { token });

describe('getProduct 200', () => {
  it.each([
    ['that of the product, even if its category has another', 21, 16, 21],
    ['that of the category, if the product has none', null, 16, 16],
    ['null, if neither product nor category has one', null, null, null],
  ])('returns as minAge %s', async (_case, ofProduct, ofCategory, minAge) => {
    const { categoryId, subcategoryId } = await newCategory(harness, partner);
    const { prisma } = harness.domain.db;
    const id = await newProduct(harness, partner, { categoryId, subcategoryId });
    const { tenantId } = partner;
    await prisma.product.updateMany({ where: { tenantId, id }, data: { minAge: ofProduct } });
    await prisma.category.updateMany({ where: { tenantId, id: categoryId }, data: { minAge: ofCategory } });
    expect((await get(id)).body.minAge).toBe(minAge);
  });

  // The examples of the contract have every property (tests/contract/examples).
  it('returns a deleted product with isDeleted', async () => {
    const id = await newProduct(harness, partner, { isDeleted: true });
    expect((await get(id)).body).toMatchObject({ id, isDeleted: true });
  });
});
