import { v7 } from 'uuid';
import { useCatalogHarness, write } from './catalogHarness.js';
import {
  clinic,
  location,
  offer,
  product,
  sample,
  withClinic,
  withOffer,
  withProduct,
  withRx,
} from './catalogSample.js';

const harness = useCatalogHarness();
const { faultsOf, imported, stored } = harness;
const variant = { name: 'Half', sku: 'BTX-50', price: '1', qty: 1 };

describe('an id in the file', () => {
  const idOf = async (tenant?: string) => {
    const {
      clinics: [first],
      categories: [category],
      products: [botox, other],
    } = await stored(tenant);
    if (!first || !category || !botox?.offer || !other?.rx) throw new Error('The sample is incomplete.');
    return {
      clinic: first.id,
      location: first.locations[0]?.id,
      category: category.id,
      subcategory: category.subcategories[1]?.id,
      product: botox.id,
      offer: botox.offer.id,
      variant: botox.offer.variants[0]?.id,
      rx: other.rx.id,
      availability: other.availability[0]?.id,
    };
  };

  /** Element, pointer, and the sample with one id in it. */
  const placed: [string, string, (id: string | undefined) => unknown][] = [
    ['clinic', '/clinics/0/id', (id) => withClinic({ id })],
    ['location', '/clinics/0/locations/0/id', (id) => withClinic({ locations: [location({ id })] })],
    ['category', '/categories/0/id', (id) => ({ categories: [{ ...sample().categories[0], id }] })],
    [
      'subcategory',
      '/categories/0/subcategories/0/id',
      (id) => ({
        categories: [{ ...sample().categories[0], subcategories: [{ id, subCategoryName: 'Neuromodulators' }] }],
      }),
    ],
    ['product', '/products/0/id', (id) => withProduct({ id })],
    ['offer', '/products/0/productOffer/id', (id) => withOffer({ id })],
    [
      'variant',
      '/products/0/productOffer/offerVariants/0/id',
      (id) => withOffer({ offerVariants: [{ ...variant, id }] }),
    ],
    ['rx', '/products/0/productRx/id', (id) => withRx({ id })],
    [
      'availability',
      '/products/0/clinicAvailability/0/id',
      (id) => withProduct({ clinicAvailability: [{ id, clinic: 'Austin, PLLC' }] }),
    ],
  ];

  it.each(placed)('may be used by another tenant, whose %s does not change', async (kind, _pointer, catalog) => {
    const other = await harness.newTenant();
    await imported(sample(), other);
    const before = await stored(other);
    const id = Object.entries(await idOf(other)).find(([name]) => name === kind)?.[1];
    await imported(catalog(id));
    expect(JSON.stringify(await stored())).toContain(id);
    expect(await stored(other)).toEqual(before);
  });

  it.each(placed.filter(([kind]) => kind !== 'rx' && kind !== 'availability'))(
    'is refused if it contradicts the id of the stored %s',
    async (_kind, pointer, catalog) => {
      await imported(sample());
      const before = await stored();
      const message = expect.stringMatching(/contradicts the stored .* which has the id/);
      expect(await faultsOf(write(catalog(v7())))).toMatchObject([{ pointer, message }]);
      expect(await stored()).toEqual(before);
    },
  );

  it('is refused if another element of the tenant has it', async () => {
    await imported(sample());
    const ids = await idOf();
    const before = await stored();
    const message = expect.stringMatching(/elsewhere/);
    const second = clinic({ legalName: 'New, LLC', locations: [location({ name: 'New', id: ids.location })] });
    expect(await faultsOf(write({ clinics: [second] }))).toMatchObject([
      { pointer: '/clinics/0/locations/0/id', message },
    ]);
    expect(await faultsOf(write({ clinics: [clinic(), second] }))).toMatchObject([
      { pointer: '/clinics/1/locations/0/id', message },
    ]);
    expect(
      await faultsOf(write({ products: [product({ id: v7(), sku: 'NEW', productOffer: offer({ id: ids.offer }) })] })),
    ).toMatchObject([{ pointer: '/products/0/productOffer/id', message }]);
    expect(await stored()).toEqual(before);
  });

  it('is refused if two elements of the file have it', async () => {
    const id = v7();
    const catalog = { ...sample(), products: [product({ id }), product({ id, sku: 'B' })] };
    expect(await faultsOf(write(catalog))).toMatchObject([
      { pointer: '/products/1', message: 'is the same product as /products/0' },
    ]);
  });

  it('is refused if its element takes the name of another stored row', async () => {
    await imported(sample());
    const { product: id } = await idOf();
    expect(await faultsOf(write({ products: [product({ id, sku: 'SEMA-25' })] }))).toMatchObject([
      { pointer: '/products/0/id', message: expect.stringContaining('contradicts') },
    ]);
    const renamedAndNamed = { products: [product({ id, sku: 'NEW' }), product()] };
    expect(await faultsOf(write(renamedAndNamed))).toMatchObject([{ message: 'is the same product as /products/0' }]);
  });
});
