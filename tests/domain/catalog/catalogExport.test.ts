import { unchangedSample, openCatalogHarness } from './catalogHarness.js';
import { clinic, location, product, sample } from './catalogSample.js';

const harness = await openCatalogHarness();
const { exported, imported, previewed, stored } = harness;
/** A catalog with every part of the format, a deleted product and two locations. */
async function importEverything(): Promise<void> {
  const catalog = sample();
  const locations = [location({ isPrimary: false, state: 'tx' }), location({ name: 'Airport' })];
  catalog.clinics[0] = { ...catalog.clinics[0], locations };
  catalog.pharmacies.push({ name: 'Closed' });
  catalog.products.push(product({ sku: 'GONE', pharmacy: 'Closed' }));
  await imported(catalog);
  await imported({ products: [{ sku: 'GONE', isDeleted: true }] });
}

it('catalog export writes every element except deleted products, and importing the file changes no row', async () => {
  await importEverything();
  const before = await stored();
  const file = await exported();
  expect(file).toMatchObject({
    pharmacies: [{ name: 'Lone Star' }],
    products: [{ sku: 'BTX-100' }, { sku: 'SEMA-25' }],
  });
  expect(await imported(file)).toEqual(unchangedSample);
  expect(await stored()).toEqual(before);
  expect(await exported()).toEqual(file);
});

it('catalog export and import give another tenant an equal catalog', async () => {
  await importEverything();
  const other = await harness.newTenant();
  await imported(await exported(), other);
  const neutral = (name: string, value: unknown) => (/^(tenantId|createdAt|updatedAt)$/.test(name) ? null : value);
  const contentOf = (catalog: Awaited<ReturnType<typeof stored>>) =>
    JSON.parse(JSON.stringify({ ...catalog, products: catalog.products.filter((each) => !each.isDeleted) }, neutral));
  expect(contentOf(await stored(other))).toEqual(contentOf(await stored()));
});

it('the preview of a catalog import reports the change of each element and writes no row', async () => {
  await imported(sample());
  const before = await stored();
  const products = [product({ name: 'Botulinum toxin' }), product({ sku: 'NEW' })];
  const file = { products, clinics: [clinic({ locations: [] })] };
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
  const deleted = { changes: [{ pointer: '/products/0', state: 'deleted' }] };
  expect(await previewed({ products: [{ sku: 'BTX-100', isDeleted: true }] })).toMatchObject(deleted);
});

it('the preview of a catalog import reports the faults of the file', async () => {
  const faults = [{ pointer: '/products/0/pharmacy' }, { pointer: '/products/0/category' }];
  expect(await previewed({ products: [product()] })).toMatchObject({ faults });
});
