import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { openDatabase, type Database } from '../../src/adapters/database.js';
import { createDemo } from '../../src/domain/demo.js';
import { importCatalog } from '../../src/domain/catalogImport.js';
import { createTenant } from '../../src/domain/tenants.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let db: Database;
beforeAll(async () => { database = await createTestDatabase(); db = openDatabase(database.url); });
afterAll(async () => { await db.$disconnect(); await database.drop(); });

it('demo', async () => {
  const context = { db, now: () => new Date(), newId: () => v7(), randomBytes };
  let t = performance.now();
  console.log(await createDemo(context), performance.now() - t);
  expect(await createDemo(context)).toEqual([]);
  await createTenant(context, { name: 'Big', mode: 'live' });
  const big = (price: string) => JSON.stringify({
    clinics: Array.from({ length: 50 }, (_, i) => ({ legalName: 'C' + i, displayName: 'C', email: `c${i}@x.example`, locations: [{ name: 'Main', address1: 'a', city: 'c', state: 'tx', postal: '1', isPrimary: true }] })),
    pharmacies: [{ name: 'P' }],
    categories: [{ categoryName: 'A', reviewOften: 'YEARLY', reviewRecurring: true, subcategories: [{ subCategoryName: 'S' }] }],
    products: Array.from({ length: 5000 }, (_, i) => ({ sku: 'S' + i, name: 'Product ' + i, description: 'x'.repeat(300), unitPrice: price, pharmacy: 'P', productId: 'X' + i, category: 'A', subcategory: 'S',
      productRx: { refills: 0, deaScheduleId: v7(), quantityUnitOfMeasureId: v7(), rxQty: 1, daysSupply: 1, refrigerationTypeId: v7() },
      productOffer: { price, qty: 1, qtyAlert: 1, shippingType: 'FLAT_RATE', shippingAmount: '1', vendorCost: '1', cogs: '1', offerVariants: [{ name: 'v', sku: 'v', price, qty: 1 }, { name: 'w', sku: 'w', price, qty: 1 }] },
      clinicAvailability: [{ clinic: 'C1' }, { clinic: 'c2@x.example' }, { clinic: 'c3' }] })),
  }, null, 2);
  const one = big('10.5'), two = big('11');
  console.log('bytes', one.length);
  for (const text of [one, one, two]) {
    t = performance.now();
    const r = await importCatalog(context, 'big', text);
    console.log(JSON.stringify(r).slice(0, 600), performance.now() - t);
  }
  console.log((await db.product.findMany({ where: { tenantId: 'big' }, take: 1, include: { rx: true, offer: { include: { variants: true } }, availability: true } }))[0]);
}, 120000);
