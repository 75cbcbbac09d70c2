import { v7 } from 'uuid';
import { openCatalogHarness, write } from './catalogHarness.js';
import { clinic, location, offer, product, sample, type Json } from './catalogSample.js';
import { withClinic, withOffer, withProduct, withRx } from './catalogSample.js';

const harness = await openCatalogHarness();
const { faultsOf, imported, stored } = harness;
const variant = { name: 'Half', sku: 'BTX-50', price: '1', qty: 1 };
const neuromodulators = { subCategoryName: 'Neuromodulators' };
const austin = { clinic: 'Austin, PLLC' };

describe('an id in the file', () => {
  const idsOf = async (tenant?: string) => {
    const { clinics, categories, products } = await stored(tenant);
    const [austin, injectables, botox, semaglutide] = [clinics[0], categories[0], products[0], products[1]];
    return {
      clinic: austin?.id,
      location: austin?.locations[0]?.id,
      category: injectables?.id,
      subcategory: injectables?.subcategories[1]?.id,
      product: botox?.id,
      offer: botox?.offer?.id,
      variant: botox?.offer?.variants[0]?.id,
      rx: semaglutide?.rx?.id,
      availability: semaglutide?.availability[0]?.id,
    };
  };
  const inCategory = (change: Json) => ({ categories: [{ ...sample().categories[0], ...change }] });

  /** Element, its pointer, and the sample with its id. */
  const placed: [keyof Awaited<ReturnType<typeof idsOf>>, string, (id: string) => unknown][] = [
    ['clinic', '/clinics/0', (id) => withClinic({ id })],
    ['location', '/clinics/0/locations/0', (id) => withClinic({ locations: [location({ id })] })],
    ['category', '/categories/0', (id) => inCategory({ id })],
    [
      'subcategory',
      '/categories/0/subcategories/0',
      (id) => inCategory({ subcategories: [{ ...neuromodulators, id }] }),
    ],
    ['product', '/products/0', (id) => withProduct({ id })],
    ['offer', '/products/0/productOffer', (id) => withOffer({ id })],
    ['variant', '/products/0/productOffer/offerVariants/0', (id) => withOffer({ offerVariants: [{ ...variant, id }] })],
    ['rx', '/products/0/productRx', (id) => withRx({ id })],
    [
      'availability',
      '/products/0/clinicAvailability/0',
      (id) => withProduct({ clinicAvailability: [{ ...austin, id }] }),
    ],
  ];

  it.each(placed)('may be an id of another tenant, whose %s does not change', async (kind, _pointer, catalog) => {
    const other = await harness.newTenant();
    await imported(sample(), other);
    const before = await stored(other);
    const { [kind]: id = 'none' } = await idsOf(other);
    await imported(catalog(id));
    expect(JSON.stringify(await stored())).toContain(id);
    expect(await stored(other)).toEqual(before);
  });

  it.each(placed.filter(([kind]) => kind !== 'rx' && kind !== 'availability'))(
    'is refused if it contradicts the id of the stored %s',
    async (_kind, pointer, catalog) => {
      await imported(sample());
      const before = await stored();
      const message = expect.stringMatching(/differs from the id .* of the stored .* with this name/);
      expect(await faultsOf(write(catalog(v7())))).toMatchObject([{ pointer: `${pointer}/id`, message }]);
      expect(await stored()).toEqual(before);
    },
  );

  it('is refused if another element of the tenant has it', async () => {
    await imported(sample());
    const ids = await idsOf();
    const before = await stored();
    const message = expect.stringMatching(/elsewhere/);
    const second = clinic({ legalName: 'New, LLC', locations: [location({ name: 'New', id: ids.location })] });
    const added = product({ id: v7(), sku: 'NEW', productOffer: offer({ id: ids.offer }) });
    for (const [catalog, pointer] of [
      [{ clinics: [second] }, '/clinics/0/locations/0/id'],
      [{ clinics: [clinic(), second] }, '/clinics/1/locations/0/id'],
      [{ products: [added] }, '/products/0/productOffer/id'],
    ]) {
      expect(await faultsOf(write(catalog))).toMatchObject([{ pointer, message }]);
    }
    expect(await stored()).toEqual(before);
  });

  it('is refused if two elements of the file have it', async () => {
    const id = v7();
    const catalog = { ...sample(), products: [product({ id }), product({ id, sku: 'B' })] };
    const fault = { pointer: '/products/1', message: 'is the same product as /products/0' };
    expect(await faultsOf(write(catalog))).toMatchObject([fault]);
  });

  it('is refused if its element has the name of another stored element', async () => {
    await imported(sample());
    const { product: id } = await idsOf();
    const fault = { pointer: '/products/0/id', message: expect.stringContaining('differs from the id') };
    expect(await faultsOf(write({ products: [product({ id, sku: 'SEMA-25' })] }))).toMatchObject([fault]);
    const renamedAndNamed = { products: [product({ id, sku: 'NEW' }), product()] };
    expect(await faultsOf(write(renamedAndNamed))).toMatchObject([{ message: 'is the same product as /products/0' }]);
  });
});
