import { newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const list = (name: string, token = partner.token): Promise<Answer> =>
  call(harness, `GET /reference/${name}`, { token });

describe('listReferenceData 200', () => {
  it('names each category, subcategory and pharmacy of the products once', async () => {
    await newProduct(harness, partner);
    await newProduct(harness, partner);
    const { data } = (await call(harness, 'GET /tenants/products', { token: partner.token })).body;
    const distinct = (entries: readonly { id: string; name: string }[]): unknown[] =>
      [...new Map(entries.map((entry) => [entry.id, entry])).values()].toSorted(
        (a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id),
      );
    const shown: [string, (product: any) => { id: string; name: string }][] = [
      ['categories', ({ category }) => ({ id: category.id, name: category.categoryName })],
      ['subcategories', ({ subcategory }) => ({ id: subcategory.id, name: subcategory.subCategoryName })],
      ['pharmacies', ({ pharmacyId, pharmacyName }) => ({ id: pharmacyId, name: pharmacyName })],
    ];
    for (const [name, entryOf] of shown) expect((await list(name)).body.data).toEqual(distinct(data.map(entryOf)));
    const other = await newPartner(harness);
    for (const [name] of shown) expect((await list(name, other.token)).body.data).toEqual([]);
  });

  it('lists units and refrigeration types, sorted by name', async () => {
    for (const name of ['units', 'refrigeration-types']) {
      const names = (await list(name)).body.data.map((entry: { name: string }) => entry.name);
      expect([names.length, names]).toEqual([3, names.toSorted()]);
    }
  });
});
