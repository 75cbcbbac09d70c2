import { newClinic, newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const get = (id: string, { token } = partner) => call(harness, `GET /tenants/products/${id}`, { token });

describe('getProduct 200', () => {
  it('returns the product as the list shows it', async () => {
    const availability = [{ clinicId: await newClinic(harness, partner), isActive: true }];
    const id = await newProduct(harness, partner, { isRx: true, availability });
    const { status, body } = await get(id);
    const list = await call(harness, 'GET /tenants/products', { token: partner.token });
    expect([status, body]).toEqual([200, list.body.data.find((product: { id: string }) => product.id === id)]);
  });

  it('returns a deleted product, which encounters and orders still name', async () => {
    const id = await newProduct(harness, partner, { isDeleted: true });
    expect((await get(id)).body).toMatchObject({ id, isDeleted: true });
  });
});
