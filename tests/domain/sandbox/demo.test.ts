import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { openDatabase } from '../../../src/adapters/database/database.js';
import { openObjectStore } from '../../../src/adapters/objects/openObjectStore.js';
import { createDemo } from '../../../src/domain/sandbox/demo.js';
import { hashClientSecret } from '../../../src/domain/access/apiClientSecrets.js';
import { presets } from '../../../src/domain/access/permissions.js';
import { createTestDatabase } from '../../support/postgres.js';
import { storedCatalog } from '../catalog/catalogHarness.js';

const database = await createTestDatabase();
const db = openDatabase(database.url);
const dataDir = await mkdtemp(join(tmpdir(), 'ces-demo-'));
const store = await openObjectStore({ dataDir, store: { kind: 'file' } });

afterAll(async () => {
  await db.close();
  await database.drop();
  await rm(dataDir, { recursive: true });
});

it('createDemo creates two sandbox tenants with working credentials, and does not change them when it runs again', async () => {
  const context = { db, now: () => new Date(), newId: () => v7(), randomBytes: (size: number) => randomBytes(size) };
  const created = await createDemo(context, store);
  expect(created.map(({ name }) => name)).toEqual(['demo', 'Harbor Wellness']);
  for (const { name, clientId, clientSecret } of created) {
    const include = { tenant: true, secrets: true };
    const client = await db.prisma.apiClient.findFirst({ where: { clientId }, include });
    expect(client).toMatchObject({ isActive: true, tenant: { name, mode: 'sandbox' } });
    expect(client?.permissions).toEqual(expect.arrayContaining([...presets.partner]));
    expect(client?.secrets.map(({ secretHash }) => Buffer.from(secretHash))).toEqual([
      Buffer.from(hashClientSecret(clientSecret)),
    ]);
  }

  const { blobPath } = await db.prisma.document.findFirstOrThrow({ where: { tenantId: 'demo' } });
  expect((await readFile(join(dataDir, 'documents', blobPath))).toString()).toMatch(/^%PDF-[^]*%%EOF$/);

  const before = await storedCatalog(db, 'demo');
  expect(await createDemo(context, store)).toEqual([]);
  expect(await storedCatalog(db, 'demo')).toEqual(before);
});

it.each(['demo', 'harbor'])('createDemo gives the tenant %s a catalog with every kind of record', async (tenantId) => {
  const { clinics, categories, products } = await storedCatalog(db, tenantId);
  const states = new Set(clinics.flatMap(({ locations }) => locations.map(({ state }) => state)));
  const hasZone = ({ locations }: (typeof clinics)[number]) =>
    locations.some(({ isPrimary, timezone }) => isPrimary && timezone !== null);
  expect(clinics.length).toBeGreaterThanOrEqual(6);
  expect(states.size).toBeGreaterThanOrEqual(3);
  expect(clinics.every(hasZone)).toBe(true);
  expect(clinics.filter(({ isActive }) => !isActive)).toHaveLength(1);
  expect(products.length).toBeGreaterThanOrEqual(12);
  expect(new Set(products.map(({ categoryId }) => categoryId)).size).toBeGreaterThanOrEqual(4);
  expect(new Set(categories.map(({ reviewOften }) => reviewOften))).toEqual(new Set(['YEARLY', 'MONTHLY']));
  expect(new Set(products.map(({ offer }) => offer?.shippingType))).toEqual(new Set(['FREE_SHIPPING', 'FLAT_RATE']));
  expect(products.some(({ rx }) => rx !== null)).toBe(true);
  expect(products.filter(({ isActive }) => !isActive)).toHaveLength(1);
  expect(products.some(({ availability }) => availability.some(({ isActive }) => isActive))).toBe(true);
});

it('createDemo gives the first tenant the clinics and products of the contract’s examples', async () => {
  const { clinics, products } = await storedCatalog(db, 'demo');
  const names = [
    ...clinics.map(({ id, displayName }) => [id, displayName]),
    ...products.map(({ id, sku }) => [id, sku]),
  ];
  const examples = {
    ...{ c101: 'Northwind Austin', c102: 'Northwind Phoenix', c103: 'Northwind Denver' },
    ...{ b201: 'BTX-100', b202: 'SEMA-25', b203: 'B12-10', b204: 'LHR-01' },
  };
  const expected = Object.entries(examples).map(([end, name]) => [`01a05c32-5e80-7000-8000-00000000${end}`, name]);
  expect(names).toEqual(expect.arrayContaining(expected));
});

it('createDemo gives the first tenant the sandbox fixtures, and the second only a catalog', async () => {
  const numbers = async (tenantId: string) =>
    (await db.prisma.encounter.findMany({ where: { tenantId } })).map(({ encounterNo }) => Number(encounterNo)).sort();
  expect(await numbers('demo')).toEqual([100_123, 100_124, 100_125, 100_126, 100_127, 100_131, 100_132, 100_133]);
  const patients = await db.prisma.patient.findMany({ where: { tenantId: 'demo' }, orderBy: { email: 'asc' } });
  expect(patients.map(({ email }) => email)).toEqual(['jane.miller@example.com', 'noah.reed@example.com']);
  expect([await numbers('harbor'), await db.prisma.patient.count({ where: { tenantId: 'harbor' } })]).toEqual([[], 0]);
});

it('demo.json fixes the id of every record, so that a reset keeps them', async () => {
  const file: unknown = JSON.parse(await readFile(new URL('../../../prisma/demo/demo.json', import.meta.url), 'utf8'));
  const ids: string[] = [];
  const walk = (value: unknown, holder: string): void => {
    if (Array.isArray(value)) for (const element of value) walk(element, '');
    else if (typeof value === 'object' && value !== null && holder !== 'metadata') {
      if (!('clinics' in value)) ids.push(String(Object(value).id));
      for (const [name, member] of Object.entries(value)) walk(member, name);
    }
  };
  walk(file, '');
  expect(ids.filter((id) => !/^01a05c32-5e80-7000-8000-[0-9a-f]{12}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});
