import { counts, openCatalogHarness } from './catalogHarness.js';
import { clinic, location, offer, product, sample } from './catalogSample.js';

const { imported, stored } = await openCatalogHarness();

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
    const [austin] = after.clinics;
    const renamed = { legalName: 'AUSTIN, PLLC', isActive: false, updatedAt: austin?.updatedAt };
    expect(austin).toEqual({ ...before.clinics[0], ...renamed });
    const [old, changed] = [before.products[0], after.products[0]];
    const { price, updatedAt } = changed?.offer ?? {};
    expect(changed?.offer).toEqual({ ...old?.offer, price, updatedAt });
    expect(price?.toFixed(2)).toBe('250.00');
    // A client that lists products by updatedAt must see a new price.
    expect(changed?.updatedAt.getTime()).toBeGreaterThan(old?.updatedAt.getTime() ?? Infinity);
    expect({ ...changed, updatedAt: null, offer: null }).toEqual({ ...old, updatedAt: null, offer: null });
  });

  it('removes a stored location, variant, prescription or availability that the file omits from its clinic or product', async () => {
    await imported(sample());
    const third = { name: 'Third', sku: 'BTX-33', price: '90', qty: 1 };
    const weight = { sku: 'SEMA-25', category: 'Weight', subcategory: 'GLP-1' };
    await imported({
      clinics: [clinic({ locations: [location({ isPrimary: false }), location({ name: 'Uptown' })] })],
      products: [
        product({ productOffer: offer({ offerVariants: [third] }) }),
        product({ ...weight, clinicAvailability: [{ clinic: 'Phoenix, LLC' }] }),
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
    for (const primary of ['A', 'B', 'A', 'B']) {
      const locations = ['A', 'B', 'C'].map((name) => location({ name, isPrimary: name === primary }));
      await imported({ clinics: [clinic({ locations })] });
      const primaries = (await stored()).clinics[0]?.locations.filter(({ isPrimary }) => isPrimary);
      expect(primaries).toMatchObject([{ name: primary }]);
    }
  });

  it('renames elements that the file identifies by id', async () => {
    await imported(sample());
    const before = await stored();
    const [austin, injectables, botox] = [before.clinics[0], before.categories[0], before.products[0]];
    const typeA = { id: injectables?.subcategories[1]?.id, subCategoryName: 'Type A' };
    const toxins = { ...sample().categories[0], id: injectables?.id, categoryName: 'Toxins', subcategories: [typeA] };
    const names = { sku: 'TOX-A', pharmacy: 'Silver Star', category: 'Toxins', subcategory: 'Type A' };
    const report = await imported({
      clinics: [clinic({ id: austin?.id, legalName: 'Texas, PLLC', email: 'texas@x.example' })],
      pharmacies: [{ id: botox?.pharmacyId, name: 'Silver Star' }],
      categories: [toxins],
      products: [product({ ...names, id: botox?.id, clinicAvailability: [{ clinic: 'Texas, PLLC' }] })],
    });
    expect(Object.keys(report)).toHaveLength(5);
    for (const kind of Object.values(report)) expect(kind).toEqual(counts(0, 1, 0));
    const after = await stored();
    expect(after.clinics.map(({ id, legalName }) => [id, legalName])).toContainEqual([austin?.id, 'Texas, PLLC']);
    const pharmacy = { pharmacyName: 'Silver Star', pharmacyId: botox?.pharmacyId };
    const availability = [{ clinicId: austin?.id }];
    expect(after.products).toMatchObject([
      { sku: 'SEMA-25', ...pharmacy },
      { id: botox?.id, sku: 'TOX-A', ...pharmacy, categoryId: injectables?.id, availability },
    ]);
  });

  it('deletes and restores a product, which keeps its id and its parts', async () => {
    await imported(sample());
    const [botox] = (await stored()).products;
    const deletion = { products: [product({ isDeleted: true })] };
    expect(await imported(deletion)).toMatchObject({ products: counts(0, 1, 0) });
    expect(await imported(deletion)).toMatchObject({ products: counts(0, 0, 1) });
    const deleted = (await stored()).products[0];
    expect(deleted).toEqual({ ...botox, isDeleted: true, updatedAt: deleted?.updatedAt });
    expect(await imported(sample())).toMatchObject({ products: counts(0, 1, 1) });
    const restored = (await stored()).products;
    expect(restored).toHaveLength(2);
    expect(restored[0]).toEqual({ ...botox, updatedAt: restored[0]?.updatedAt });
  });
});
