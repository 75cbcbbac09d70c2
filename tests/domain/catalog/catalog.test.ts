import { v7 } from 'uuid';
import { everyCase } from '../../support/everyCase.js';
import { counts, unchangedSample, openCatalogHarness } from './catalogHarness.js';
import { clinic, location, offer, placedIds, product, rx, sample, write } from './catalogSample.js';

const harness = await openCatalogHarness();
const { imported, stored } = harness;

describe('a new catalog', () => {
  it('is stored with the values of the file, and defaults for omitted members', async () => {
    expect(await imported(sample())).toEqual({
      clinics: counts(2, 0, 0),
      pharmacies: counts(1, 0, 0),
      categories: counts(2, 0, 0),
      subcategories: counts(3, 0, 0),
      products: counts(2, 0, 0),
    });
    const { clinics, categories, products } = await stored();
    const downtown = { ...location(), address2: null, country: 'US', phone: null, isActive: true };
    expect(clinics).toMatchObject([
      { ...clinic(), isActive: true, metadata: { beds: 3, tags: ['a'] }, locations: [downtown] },
      { legalName: 'Phoenix, LLC', isActive: false, metadata: null, locations: [] },
    ]);
    const injectables = [{ subCategoryName: 'Fillers' }, { subCategoryName: 'Neuromodulators' }];
    expect(categories).toMatchObject([
      { categoryName: 'Injectables', reviewOften: 'YEARLY', reviewRecurring: true, subcategories: injectables },
      {
        ...{ categoryName: 'Weight', reviewOften: 'MONTHLY', subcategories: [{ subCategoryName: 'GLP-1' }] },
        ...{ minAge: 18, synchronousOnly: true },
      },
    ]);
    const [botox, semaglutide] = products;
    const variants = [{ name: 'Half', sku: 'BTX-50', qty: 3, isActive: true }];
    const offered = { qty: 12, qtyAlert: 2, shippingType: 'FLAT_RATE', variants };
    expect(botox).toMatchObject({ sku: 'BTX-100', name: 'Botox', description: 'One session', offer: offered });
    const group = { categoryId: categories[0]?.id, subcategoryId: categories[0]?.subcategories[1]?.id };
    expect(botox).toMatchObject({ ...group, pharmacyName: 'Lone Star', externalCode: 'X-1' });
    const rules = { minAge: null, synchronousOnly: false };
    const defaults = {
      ...rules,
      isActive: true,
      isDeleted: false,
      metadata: null,
      imageUrl: null,
      rx: null,
      availability: [],
    };
    expect(botox).toMatchObject({ ...defaults, createdBy: null, updatedBy: null });
    const { price, shippingAmount, vendorCost, cogs } = botox?.offer ?? {};
    const money = [botox?.unitPrice, price, shippingAmount, vendorCost, cogs, botox?.offer?.variants[0]?.price];
    expect(money.map((amount) => amount?.toFixed(2)).join(' ')).toBe('240.00 240.00 15.00 150.00 165.00 130.00');
    expect(semaglutide).toMatchObject({
      pharmacyId: botox?.pharmacyId,
      rx: { ...rx(), rxNumber: null, notes: null },
      offer: { variants: [] },
      availability: [
        { clinicId: clinics[1]?.id, isActive: true },
        { clinicId: clinics[0]?.id, isActive: false },
      ],
    });
  });

  it('shares no product with another tenant that imports the file', async () => {
    const other = await harness.newTenant();
    await imported(sample());
    await imported(sample(), other);
    const ids = new Set([...(await stored()).products, ...(await stored(other)).products].map(({ id }) => id));
    expect(ids.size).toBe(4);
  });

  it('keeps the ids of the file, in upper or lower case', async () => {
    const ids = Array.from({ length: 10 }, () => v7());
    const [c, k, p, l, s, o, v, r, a, f] = ids;
    const catalog = sample();
    catalog.clinics = [clinic({ id: c, locations: [location({ id: l })] })];
    catalog.pharmacies = [{ id: f, name: 'Lone Star' }];
    const subcategories = [{ id: s, subCategoryName: 'Neuromodulators' }];
    catalog.categories = [{ ...catalog.categories[0], id: k, subcategories }];
    const variant = { id: v, name: 'Half', sku: 'BTX-50', price: '1', qty: 1 };
    catalog.products = [
      product({
        id: p?.toUpperCase(),
        productOffer: offer({ id: o, offerVariants: [variant] }),
        productRx: rx({ id: r }),
        clinicAvailability: [{ id: a, clinic: c }],
      }),
    ];
    await imported(catalog);
    expect(await imported(catalog)).toMatchObject({ products: counts(0, 0, 1), pharmacies: counts(0, 0, 1) });
    const { clinics, categories, products } = await stored();
    const [first, category, botox] = [clinics[0], categories[0], products[0]];
    const elements = [first, category, botox, first?.locations[0], category?.subcategories[0], botox?.offer];
    const parts = [botox?.offer?.variants[0], botox?.rx, botox?.availability[0], { id: botox?.pharmacyId }];
    expect([...elements, ...parts].map((element) => element?.id)).toEqual(ids);
  });

  it('may have ids of the catalog of another tenant, which does not change', async () => {
    const other = await harness.newTenant();
    await imported(sample(), other);
    const before = await stored(other);
    const { clinics, categories, products } = before;
    const [austin, injectables, botox, semaglutide] = [clinics[0], categories[0], products[0], products[1]];
    const parts = [
      ...[austin, austin?.locations[0], injectables, injectables?.subcategories[1], botox, botox?.offer],
      ...[botox?.offer?.variants[0], semaglutide?.rx, semaglutide?.availability[0]],
    ];
    await everyCase(
      placedIds.map(([kind, , catalog], index) => ({ kind, catalog, id: parts[index]?.id ?? 'none' })),
      ({ kind }) => kind,
      async ({ catalog, id }) => {
        const own = await harness.newTenant();
        await imported(catalog(id), own);
        expect(JSON.stringify(await stored(own))).toContain(id);
      },
    );
    expect(await stored(other)).toEqual(before);
  });

  it('is stored completely with 2,345 products, and reports its growing progress', async () => {
    const catalog = sample();
    catalog.products = Array.from({ length: 2_345 }, (_, index) =>
      product({ sku: `SKU-${index}`, productOffer: offer({ price: `${index}.5` }) }),
    );
    const steps: number[] = [];
    await imported(catalog, harness.tenantId, (written, total) => steps.push(written / total));
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(steps.at(-1)).toBe(1);
    const { products } = await stored();
    expect(products).toHaveLength(2_345);
    expect(products.every((each) => each.offer?.price.toFixed(2) === `${each.sku.slice(4)}.50`)).toBe(true);
    expect(await imported(catalog)).toMatchObject({ products: counts(0, 0, 2_345) });
  });
});

it('catalog import stores no part of a faulty file, nor of one whose import fails while it writes', async () => {
  expect(
    await harness.faultsOf(write({ ...sample(), products: [product(), product({ pharmacy: 'None', sku: 'B' })] })),
  ).toHaveLength(1);
  const broken = imported(sample(), harness.tenantId, (written, total) => {
    if (written > total / 2) throw new Error('the plug was pulled');
  });
  await expect(broken).rejects.toThrow('the plug was pulled');
  expect(await stored()).toEqual({ clinics: [], categories: [], products: [] });
});

describe('a repeated import', () => {
  it('changes no value, not even updatedAt', async () => {
    await imported(sample());
    const before = await stored();
    expect(await imported(sample())).toEqual(unchangedSample);
    expect(await stored()).toEqual(before);
  });

  it('changes no value when the file spells equal values differently', async () => {
    await imported(sample());
    const before = await stored();
    const catalog = sample();
    catalog.clinics = [clinic({ metadata: { tags: ['a'], beds: 3.0 }, locations: [location({ state: 'tx' })] })];
    catalog.products = [product({ unitPrice: '240', productOffer: offer({ price: '0240.0', shippingAmount: '15' }) })];
    await imported(catalog);
    expect(await stored()).toEqual(before);
  });

  it('creates one catalog when five imports run at once', async () => {
    const catalog = sample();
    catalog.products = Array.from({ length: 50 }, (_, index) => product({ sku: `SKU-${index}` }));
    const reports = await Promise.all(Array.from({ length: 5 }, () => imported(catalog)));
    expect(reports.map(({ products }) => products.created).sort()).toEqual([0, 0, 0, 0, 50]);
    const { clinics, categories, products } = await stored();
    expect([clinics.length, categories.length, products.length]).toEqual([2, 2, 50]);
  });
});
