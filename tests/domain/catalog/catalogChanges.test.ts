import { useCatalogHarness, write } from './catalogHarness.js';
import { clinic, location, offer, product, sample } from './catalogSample.js';

const { faultsOf, imported, stored } = useCatalogHarness();

/** The counts of one kind of element in a report. */
const counts = (created: number, updated: number, unchanged: number, deleted = 0) => ({
  created,
  updated,
  deleted,
  unchanged,
});

describe('a changed catalog', () => {
  it('updates changed elements, keeps every id and ignores elements that it does not name', async () => {
    await imported(sample());
    const before = await stored();
    const report = await imported({
      clinics: [clinic({ legalName: 'AUSTIN, PLLC', metadata: { beds: 3, tags: ['a'] }, isActive: false })],
      products: [product({ productOffer: offer({ price: '250.00' }) })],
    });
    expect(report).toMatchObject({ clinics: counts(0, 1, 0), products: counts(0, 1, 0), categories: counts(0, 0, 0) });
    const after = await stored();
    expect(after.clinics[1]).toEqual(before.clinics[1]);
    expect(after.categories).toEqual(before.categories);
    expect(after.products[1]?.offer).toEqual(before.products[1]?.offer);
    const [clinicBefore, clinicAfter] = [before.clinics[0], after.clinics[0]];
    expect(clinicAfter).toEqual({
      ...clinicBefore,
      legalName: 'AUSTIN, PLLC',
      isActive: false,
      updatedAt: clinicAfter?.updatedAt,
    });
    const [old, changed] = [before.products[0], after.products[0]];
    expect(changed?.offer).toEqual({
      ...old?.offer,
      price: changed?.offer?.price,
      updatedAt: changed?.offer?.updatedAt,
    });
    expect(changed?.offer?.price.toFixed(2)).toBe('250.00');
    // A client that lists products by updatedAt must see a new price.
    expect(changed?.updatedAt.getTime()).toBeGreaterThan(old?.updatedAt.getTime() ?? Infinity);
    expect({ ...changed, updatedAt: null, offer: null }).toEqual({ ...old, updatedAt: null, offer: null });
  });

  it('removes parts that an element of the file does not have', async () => {
    await imported(sample());
    await imported({
      clinics: [clinic({ locations: [location({ isPrimary: false }), location({ name: 'Uptown' })] })],
      products: [
        product({ productOffer: offer({ offerVariants: [{ name: 'Third', sku: 'BTX-33', price: '90', qty: 1 }] }) }),
        product({
          sku: 'SEMA-25',
          category: 'Weight',
          subcategory: 'GLP-1',
          clinicAvailability: [{ clinic: 'Phoenix, LLC' }],
        }),
      ],
    });
    const { clinics, categories, products } = await stored();
    expect(clinics[0]?.locations).toMatchObject([
      { name: 'Downtown', isPrimary: false },
      { name: 'Uptown', isPrimary: true },
    ]);
    await imported({ clinics: [clinic({ locations: [location()] })] });
    expect((await stored()).clinics[0]?.locations).toMatchObject([{ name: 'Downtown', isPrimary: true }]);
    expect(products[0]?.offer?.variants).toMatchObject([{ sku: 'BTX-33' }]);
    expect(products[1]).toMatchObject({ rx: null, availability: [{ clinicId: clinics[1]?.id }] });
    expect(products[1]?.availability).toHaveLength(1);
    expect(categories[0]?.subcategories).toHaveLength(2);
  });

  it('moves the primary flag between stored locations', async () => {
    const places = (first: boolean) => [
      location({ name: 'A', isPrimary: first }),
      location({ name: 'B', isPrimary: !first }),
      location({ name: 'C', isPrimary: false }),
    ];
    await imported({ clinics: [clinic({ locations: places(true) })] });
    for (const first of [false, true, false]) {
      await imported({ clinics: [clinic({ locations: places(first) })] });
      expect((await stored()).clinics[0]?.locations.map(({ isPrimary }) => isPrimary)).toEqual([first, !first, false]);
    }
  });

  it('renames elements that it identifies by id', async () => {
    await imported(sample());
    const {
      clinics: [austin],
      categories: [injectables],
      products: [botox],
    } = await stored();
    const report = await imported({
      clinics: [clinic({ id: austin?.id, legalName: 'Texas, PLLC', email: 'texas@x.example' })],
      pharmacies: [{ id: botox?.pharmacyId, name: 'Silver Star' }],
      categories: [
        {
          id: injectables?.id,
          categoryName: 'Toxins',
          reviewOften: 'YEARLY',
          reviewRecurring: true,
          subcategories: [{ id: injectables?.subcategories[1]?.id, subCategoryName: 'Type A' }],
        },
      ],
      products: [
        product({
          id: botox?.id,
          sku: 'TOX-A',
          pharmacy: 'Silver Star',
          category: 'Toxins',
          subcategory: 'Type A',
          clinicAvailability: [{ clinic: 'Texas, PLLC' }],
        }),
      ],
    });
    expect(report).toMatchObject({
      clinics: counts(0, 1, 0),
      pharmacies: counts(0, 1, 0),
      categories: counts(0, 1, 0),
      subcategories: counts(0, 1, 0),
      products: counts(0, 1, 0),
    });
    const after = await stored();
    expect(after.clinics.map(({ id, legalName }) => [id, legalName])).toContainEqual([austin?.id, 'Texas, PLLC']);
    expect(after.products).toMatchObject([
      { sku: 'SEMA-25', pharmacyName: 'Silver Star', pharmacyId: botox?.pharmacyId },
      {
        id: botox?.id,
        sku: 'TOX-A',
        pharmacyName: 'Silver Star',
        categoryId: injectables?.id,
        availability: [{ clinicId: austin?.id }],
      },
    ]);
  });

  it('deletes a product by its sku, and creates a new product at its next import', async () => {
    await imported(sample());
    const [botox] = (await stored()).products;
    const deletion = { products: [{ sku: 'BTX-100', isDeleted: true }] };
    expect(await imported(deletion)).toMatchObject({ products: counts(0, 0, 0, 1) });
    expect(await imported(deletion)).toMatchObject({ products: counts(0, 0, 1) });
    const deleted = (await stored()).products[0];
    expect(deleted).toEqual({ ...botox, isDeleted: true, updatedAt: deleted?.updatedAt });
    expect(await imported(sample())).toMatchObject({ products: counts(1, 0, 1) });
    const rows = (await stored()).products.filter(({ sku }) => sku === 'BTX-100');
    expect(rows.map(({ id, isDeleted }) => [id === botox?.id, isDeleted]).sort()).toEqual([
      [false, false],
      [true, true],
    ]);
  });

  it('restores a deleted product by its id, unless another product has taken its sku', async () => {
    await imported(sample());
    const [botox] = (await stored()).products;
    const deletion = { products: [{ sku: 'BTX-100', isDeleted: true }] };
    await imported(deletion);
    expect(await imported({ products: [product({ id: botox?.id })] })).toMatchObject({ products: counts(0, 1, 0) });
    expect((await stored()).products[0]).toMatchObject({ id: botox?.id, isDeleted: false });

    await imported(deletion);
    await imported({ products: [product()] });
    const successor = (await stored()).products.find(({ sku, isDeleted }) => sku === 'BTX-100' && !isDeleted);
    const before = await stored();
    expect(await faultsOf(write({ products: [product({ id: botox?.id })] }))).toMatchObject([
      { pointer: '/products/0/id', message: expect.stringContaining(successor?.id ?? 'none') },
    ]);
    expect(await stored()).toEqual(before);
  });
});
