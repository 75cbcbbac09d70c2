import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { openDatabase, type Database } from '../../src/adapters/database.js';
import { createDemo } from '../../src/domain/demo.js';
import { hashClientSecret } from '../../src/domain/clientSecrets.js';
import { presets } from '../../src/domain/permissions.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storedCatalog } from './catalogHarness.js';

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url);
});

afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

it('creates two sandbox tenants with credentials that work, once', async () => {
  const context = { db, now: () => new Date(), newId: () => v7(), randomBytes: (size: number) => randomBytes(size) };
  const created = await createDemo(context);
  expect(created.map(({ name }) => name)).toEqual(['demo', 'Harbor Wellness']);
  for (const { name, clientId, clientSecret } of created) {
    const client = await db.apiClient.findUnique({ where: { clientId }, include: { tenant: true, secrets: true } });
    expect(client).toMatchObject({ isActive: true, tenant: { name, mode: 'sandbox' } });
    expect(client?.permissions).toEqual(expect.arrayContaining([...presets.partner]));
    expect(client?.secrets.map(({ secretHash }) => Buffer.from(secretHash))).toEqual([
      Buffer.from(hashClientSecret(clientSecret)),
    ]);
  }

  const before = await storedCatalog(db, 'demo');
  expect(await createDemo(context)).toEqual([]);
  expect(await storedCatalog(db, 'demo')).toEqual(before);
});

it.each(['demo', 'harbor'])('gives the tenant %s a catalog with something of everything', async (tenantId) => {
  const { clinics, categories, products } = await storedCatalog(db, tenantId);
  expect(clinics.length).toBeGreaterThanOrEqual(6);
  expect(new Set(clinics.flatMap(({ locations }) => locations.map(({ state }) => state))).size).toBeGreaterThanOrEqual(
    3,
  );
  expect(
    clinics.every(({ locations }) => locations.some(({ isPrimary, timezone }) => isPrimary && timezone !== null)),
  ).toBe(true);
  expect(clinics.filter(({ isActive }) => !isActive)).toHaveLength(1);
  expect(products.length).toBeGreaterThanOrEqual(12);
  expect(new Set(products.map(({ categoryId }) => categoryId)).size).toBeGreaterThanOrEqual(4);
  expect(new Set(categories.map(({ reviewOften }) => reviewOften))).toEqual(new Set(['YEARLY', 'MONTHLY']));
  expect(new Set(products.map(({ offer }) => offer?.shippingType))).toEqual(new Set(['FREE_SHIPPING', 'FLAT_RATE']));
  expect(products.some(({ rx }) => rx !== null)).toBe(true);
  expect(products.filter(({ isActive }) => !isActive)).toHaveLength(1);
  expect(products.some(({ availability }) => availability.some(({ isActive }) => isActive))).toBe(true);
});

it('gives the first tenant the clinics and products of the contract’s examples', async () => {
  const { clinics, products } = await storedCatalog(db, 'demo');
  expect(clinics.map(({ id, displayName }) => [id, displayName])).toEqual(
    expect.arrayContaining([
      ['01a05c32-5e80-7000-8000-00000000c101', 'Northwind Austin'],
      ['01a05c32-5e80-7000-8000-00000000c102', 'Northwind Phoenix'],
      ['01a05c32-5e80-7000-8000-00000000c103', 'Northwind Denver'],
    ]),
  );
  expect(products.map(({ id, sku }) => [id, sku])).toEqual(
    expect.arrayContaining([
      ['01a05c32-5e80-7000-8000-00000000b201', 'BTX-100'],
      ['01a05c32-5e80-7000-8000-00000000b202', 'SEMA-25'],
      ['01a05c32-5e80-7000-8000-00000000b203', 'B12-10'],
      ['01a05c32-5e80-7000-8000-00000000b204', 'LHR-01'],
    ]),
  );
});
