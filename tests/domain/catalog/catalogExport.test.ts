import { useCatalogHarness } from './catalogHarness.js';
import { clinic, location, product, sample } from './catalogSample.js';

const harness = useCatalogHarness();
const { exported, imported, previewed, stored } = harness;
const unchanged = (count: number) => ({ created: 0, updated: 0, deleted: 0, unchanged: count });
const changed = { products: [product({ name: 'Botulinum toxin' })], clinics: [clinic({ locations: [] })] };

/** A catalog with every part of the format, a deleted product and two locations. */
async function importEverything(): Promise<void> {
  const places = [location({ isPrimary: false, state: 'tx' }), location({ name: 'Airport' })];
  const [first, ...clinics] = sample().clinics;
  const gone = product({ sku: 'GONE', pharmacy: 'Closed' });
  const pharmacies = [...sample().pharmacies, { name: 'Closed' }];
  await imported({
    ...sample(),
    pharmacies,
    clinics: [{ ...first, locations: places }, ...clinics],
    products: [...sample().products, gone],
  });
  await imported({ products: [{ sku: 'GONE', isDeleted: true }] });
}

it('exports every element except deleted products, as a file whose import changes no row', async () => {
  await importEverything();
  const before = await stored();
  const file = await exported();
  expect(file).toMatchObject({
    pharmacies: [{ name: 'Lone Star' }],
    products: [{ sku: 'BTX-100' }, { sku: 'SEMA-25' }],
  });
  expect(await imported(file)).toEqual({
    clinics: unchanged(2),
    pharmacies: unchanged(1),
    categories: unchanged(2),
    subcategories: unchanged(3),
    products: unchanged(2),
  });
  expect(await stored()).toEqual(before);
  expect(await exported()).toEqual(file);
});

it('exports a file that gives another tenant an equal catalog', async () => {
  await importEverything();
  const other = await harness.newTenant();
  await imported(await exported(), other);
  const neutral = (name: string, value: unknown) => (/^(tenantId|createdAt|updatedAt)$/.test(name) ? null : value);
  const contentOf = (catalog: Awaited<ReturnType<typeof stored>>) =>
    JSON.parse(JSON.stringify({ ...catalog, products: catalog.products.filter((one) => !one.isDeleted) }, neutral));
  expect(contentOf(await stored(other))).toEqual(contentOf(await stored()));
});

it('previews the change of each element and writes no row', async () => {
  await imported(sample());
  const before = await stored();
  const file = { ...changed, products: [...changed.products, product({ sku: 'NEW' })] };
  const preview = await previewed(file);
  expect(await stored()).toEqual(before);
  expect(preview).toMatchObject({
    changes: [
      { line: 3, column: 5, pointer: '/products/0', state: 'updated' },
      { pointer: '/products/1', state: 'created' },
      { pointer: '/clinics/0', state: 'updated' },
    ],
    report: await imported(file),
  });
  expect(await previewed(file)).toMatchObject({ changes: [] });
  expect(await previewed({ products: [{ sku: 'BTX-100', isDeleted: true }] })).toMatchObject({
    changes: [{ pointer: '/products/0', state: 'deleted' }],
  });
});

it('previews the faults of a file', async () => {
  expect(await previewed({ products: [product()] })).toMatchObject({
    faults: [{ pointer: '/products/0/pharmacy' }, { pointer: '/products/0/category' }],
  });
});
