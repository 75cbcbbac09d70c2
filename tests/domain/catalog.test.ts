import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { openDatabase, type Database } from '../../src/adapters/database.js';
import type { DomainContext } from '../../src/context.js';
import { importCatalog } from '../../src/domain/catalogImport.js';
import type { CatalogReport } from '../../src/domain/catalogPlan.js';
import { createTenant } from '../../src/domain/tenants.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { clinic, location, offer, product, rx, sample, storedCatalog } from './catalogSample.js';

let database: TestDatabase;
let db: Database;
let context: DomainContext;
let seconds = 0;
let tenants = 0;
let tenantId = '';

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url);
  // Every look at the clock is a second later, so that a row that is written although nothing changed is noticed.
  const now = (): Date => new Date(Date.UTC(2026, 10, 20) + 1000 * seconds++);
  context = { db, now, newId: () => v7(), randomBytes: (size) => randomBytes(size) };
});

afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

beforeEach(async () => {
  tenantId = (await createTenant(context, { name: `Tenant ${++tenants}`, mode: 'live' })).id;
});

const write = (catalog: unknown): string => JSON.stringify(catalog, null, 2);

async function imported(catalog: unknown, tenant = tenantId): Promise<CatalogReport> {
  const result = await importCatalog(context, tenant, write(catalog));
  if ('faults' in result) throw new Error(write(result.faults));
  return result.report;
}

const stored = (tenant = tenantId) => storedCatalog(db, tenant);

const counts = (created: number, updated: number, unchanged: number, deleted = 0) => ({ created, updated, deleted, unchanged });

describe('a new catalog', () => {
  it('is stored as the file says, with the defaults of what it leaves out', async () => {
    expect(await imported(sample())).toEqual({
      clinics: counts(2, 0, 0), pharmacies: counts(1, 0, 0), categories: counts(2, 0, 0),
      subcategories: counts(3, 0, 0), products: counts(2, 0, 0),
    });
    const { clinics, categories, products } = await stored();
    expect(clinics).toMatchObject([
      { legalName: 'Austin, PLLC', displayName: 'Austin', email: 'austin@x.example', isActive: true,
        metadata: { beds: 3, tags: ['a'] },
        locations: [{ name: 'Downtown', state: 'TX', address2: null, country: 'US', phone: null,
          timezone: 'America/Chicago', isPrimary: true, isActive: true }] },
      { legalName: 'Phoenix, LLC', isActive: false, metadata: null, locations: [] },
    ]);
    expect(categories).toMatchObject([
      { categoryName: 'Injectables', reviewOften: 'YEARLY', reviewRecurring: true,
        subcategories: [{ subCategoryName: 'Fillers' }, { subCategoryName: 'Neuromodulators' }] },
      { categoryName: 'Weight', reviewOften: 'MONTHLY', subcategories: [{ subCategoryName: 'GLP-1' }] },
    ]);
    const [botox, semaglutide] = products;
    expect(botox).toMatchObject({
      sku: 'BTX-100', name: 'Botox', description: 'One session', isActive: true, isDeleted: false, metadata: null,
      pharmacyName: 'Lone Star', externalCode: 'X-1', categoryId: categories[0]?.id, imageUrl: null, rx: null,
      subcategoryId: categories[0]?.subcategories[1]?.id, createdBy: null, updatedBy: null, availability: [],
      offer: { qty: 12, qtyAlert: 2, shippingType: 'FLAT_RATE', variants: [{ name: 'Half', sku: 'BTX-50', qty: 3, isActive: true }] },
    });
    const money = [botox?.unitPrice, botox?.offer?.price, botox?.offer?.shippingAmount, botox?.offer?.vendorCost,
      botox?.offer?.cogs, botox?.offer?.variants[0]?.price];
    expect(money.map((amount) => amount?.toFixed(2))).toEqual(['240.00', '240.00', '15.00', '150.00', '165.00', '130.00']);
    expect(semaglutide).toMatchObject({
      pharmacyId: botox?.pharmacyId,
      rx: { ...rx(), rxNumber: null, notes: null },
      offer: { variants: [] },
      availability: [{ clinicId: clinics[1]?.id, isActive: true }, { clinicId: clinics[0]?.id, isActive: false }],
    });
  });

  it('is one of each tenant: the same file in two tenants shares no row', async () => {
    const other = (await createTenant(context, { name: 'Somebody else', mode: 'sandbox' })).id;
    await imported(sample());
    await imported(sample(), other);
    const ids = new Set([...(await stored()).products, ...(await stored(other)).products].map(({ id }) => id));
    expect(ids.size).toBe(4);
  });

  it('takes the ids that the file gives, in any case of letters', async () => {
    const ids = Array.from({ length: 10 }, () => v7());
    const [c, l, k, s, p, o, v, r, a, f] = ids;
    const catalog = sample();
    catalog.clinics = [clinic({ id: c, locations: [location({ id: l })] })];
    catalog.pharmacies = [{ id: f, name: 'Lone Star' }];
    catalog.categories = [{ id: k, categoryName: 'Injectables', reviewOften: 'YEARLY', reviewRecurring: true,
      subcategories: [{ id: s, subCategoryName: 'Neuromodulators' }] }];
    const variant = { id: v, name: 'Half', sku: 'BTX-50', price: '1', qty: 1 };
    catalog.products = [product({ id: p?.toUpperCase(), productOffer: offer({ id: o, offerVariants: [variant] }),
      productRx: rx({ id: r }), clinicAvailability: [{ id: a, clinic: c }] })];
    await imported(catalog);
    expect(await imported(catalog)).toMatchObject({ products: counts(0, 0, 1), pharmacies: counts(0, 0, 1) });
    const { clinics: [storedClinic], categories: [category], products: [stored1] } = await stored();
    expect([storedClinic?.id, storedClinic?.locations[0]?.id, category?.id, category?.subcategories[0]?.id, stored1?.id,
      stored1?.offer?.id, stored1?.offer?.variants[0]?.id, stored1?.rx?.id, stored1?.availability[0]?.id,
      stored1?.pharmacyId]).toEqual(ids);
  });

  it('of several thousand rows arrives whole, whatever the batches', async () => {
    const catalog = sample();
    catalog.products = Array.from({ length: 2_345 }, (_, index) =>
      product({ sku: `SKU-${index}`, productOffer: offer({ price: `${index}.5` }) }));
    const steps: number[] = [];
    await importCatalog(context, tenantId, write(catalog), (written, total) => steps.push(written / total));
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(steps.at(-1)).toBe(1);
    const { products } = await stored();
    expect(products).toHaveLength(2_345);
    expect(products.every(({ sku, offer: found }) => found?.price.toFixed(2) === `${sku.slice(4)}.50`)).toBe(true);
    expect(await imported(catalog)).toMatchObject({ products: counts(0, 0, 2_345) });
  });
});

describe('the same catalog again', () => {
  it('changes nothing, not even updatedAt', async () => {
    await imported(sample());
    const before = await stored();
    expect(await imported(sample())).toEqual({
      clinics: counts(0, 0, 2), pharmacies: counts(0, 0, 1), categories: counts(0, 0, 2),
      subcategories: counts(0, 0, 3), products: counts(0, 0, 2),
    });
    expect(await stored()).toEqual(before);
  });

  it('changes nothing in another spelling of the same values', async () => {
    await imported(sample());
    const before = await stored();
    const catalog = sample();
    catalog.clinics = [clinic({ metadata: { tags: ['a'], beds: 3.0 }, locations: [location({ state: 'tx' })] })];
    catalog.products = [product({ unitPrice: '240', productOffer: offer({ price: '0240.0', shippingAmount: '15' }) })];
    await imported(catalog);
    expect(await stored()).toEqual(before);
  });

  it('imported several times at once ends as one catalog', async () => {
    const catalog = sample();
    catalog.products = Array.from({ length: 50 }, (_, index) => product({ sku: `SKU-${index}` }));
    const reports = await Promise.all(Array.from({ length: 5 }, () => imported(catalog)));
    expect(reports.map(({ products }) => products.created).sort()).toEqual([0, 0, 0, 0, 50]);
    const { clinics, categories, products } = await stored();
    expect([clinics.length, categories.length, products.length]).toEqual([2, 2, 50]);
  });
});

describe('a changed catalog', () => {
  it('updates what differs, keeps every id and leaves what it does not name alone', async () => {
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
    expect(clinicAfter).toEqual({ ...clinicBefore, legalName: 'AUSTIN, PLLC', isActive: false, updatedAt: clinicAfter?.updatedAt });
    const [old, changed] = [before.products[0], after.products[0]];
    expect(changed?.offer).toEqual({ ...old?.offer, price: changed?.offer?.price, updatedAt: changed?.offer?.updatedAt });
    expect(changed?.offer?.price.toFixed(2)).toBe('250.00');
    // Whoever lists products by updatedAt sees a new price.
    expect(changed?.updatedAt.getTime()).toBeGreaterThan(old?.updatedAt.getTime() ?? Infinity);
    expect({ ...changed, updatedAt: null, offer: null }).toEqual({ ...old, updatedAt: null, offer: null });
  });

  it('removes the parts that an element no longer has', async () => {
    await imported(sample());
    await imported({
      clinics: [clinic({ locations: [location({ isPrimary: false }), location({ name: 'Uptown' })] })],
      products: [
        product({ productOffer: offer({ offerVariants: [{ name: 'Third', sku: 'BTX-33', price: '90', qty: 1 }] }) }),
        product({ sku: 'SEMA-25', category: 'Weight', subcategory: 'GLP-1', clinicAvailability: [{ clinic: 'Phoenix, LLC' }] }),
      ],
    });
    const { clinics, categories, products } = await stored();
    expect(clinics[0]?.locations).toMatchObject([{ name: 'Downtown', isPrimary: false }, { name: 'Uptown', isPrimary: true }]);
    await imported({ clinics: [clinic({ locations: [location()] })] });
    expect((await stored()).clinics[0]?.locations).toMatchObject([{ name: 'Downtown', isPrimary: true }]);
    expect(products[0]?.offer?.variants).toMatchObject([{ sku: 'BTX-33' }]);
    expect(products[1]).toMatchObject({ rx: null, availability: [{ clinicId: clinics[1]?.id }] });
    expect(products[1]?.availability).toHaveLength(1);
    expect(categories[0]?.subcategories).toHaveLength(2);
  });

  it('moves the primary flag between stored locations', async () => {
    const places = (first: boolean) =>
      [location({ name: 'A', isPrimary: first }), location({ name: 'B', isPrimary: !first }), location({ name: 'C', isPrimary: false })];
    await imported({ clinics: [clinic({ locations: places(true) })] });
    for (const first of [false, true, false]) {
      await imported({ clinics: [clinic({ locations: places(first) })] });
      expect((await stored()).clinics[0]?.locations.map(({ isPrimary }) => isPrimary)).toEqual([first, !first, false]);
    }
  });

  it('renames what it names by id', async () => {
    await imported(sample());
    const { clinics: [austin], categories: [injectables], products: [botox] } = await stored();
    const report = await imported({
      clinics: [clinic({ id: austin?.id, legalName: 'Texas, PLLC', email: 'texas@x.example' })],
      pharmacies: [{ id: botox?.pharmacyId, name: 'Silver Star' }],
      categories: [{ id: injectables?.id, categoryName: 'Toxins', reviewOften: 'YEARLY', reviewRecurring: true,
        subcategories: [{ id: injectables?.subcategories[1]?.id, subCategoryName: 'Type A' }] }],
      products: [product({ id: botox?.id, sku: 'TOX-A', pharmacy: 'Silver Star', category: 'Toxins', subcategory: 'Type A',
        clinicAvailability: [{ clinic: 'Texas, PLLC' }] })],
    });
    expect(report).toMatchObject({ clinics: counts(0, 1, 0), pharmacies: counts(0, 1, 0), categories: counts(0, 1, 0),
      subcategories: counts(0, 1, 0), products: counts(0, 1, 0) });
    const after = await stored();
    expect(after.clinics.map(({ id, legalName }) => [id, legalName])).toContainEqual([austin?.id, 'Texas, PLLC']);
    expect(after.products).toMatchObject([
      { sku: 'SEMA-25', pharmacyName: 'Silver Star', pharmacyId: botox?.pharmacyId },
      { id: botox?.id, sku: 'TOX-A', pharmacyName: 'Silver Star', categoryId: injectables?.id,
        availability: [{ clinicId: austin?.id }] },
    ]);
  });

  it('deletes a product by its sku, whose next import is a new product', async () => {
    await imported(sample());
    const [botox] = (await stored()).products;
    const deletion = { products: [{ sku: 'BTX-100', isDeleted: true }] };
    expect(await imported(deletion)).toMatchObject({ products: counts(0, 0, 0, 1) });
    expect(await imported(deletion)).toMatchObject({ products: counts(0, 0, 1) });
    const deleted = (await stored()).products[0];
    expect(deleted).toEqual({ ...botox, isDeleted: true, updatedAt: deleted?.updatedAt });
    expect(await imported(sample())).toMatchObject({ products: counts(1, 0, 1) });
    const rows = (await stored()).products.filter(({ sku }) => sku === 'BTX-100');
    expect(rows.map(({ id, isDeleted }) => [id === botox?.id, isDeleted]).sort()).toEqual([[false, false], [true, true]]);
  });
});
