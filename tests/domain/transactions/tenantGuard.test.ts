import { v7 } from 'uuid';
import { Prisma } from '../../../generated/prisma/client.js';
import { openDatabase, type Models } from '../../../src/adapters/database/database.js';
import { assertTenantNamed } from '../../../src/adapters/database/tenantGuard.js';
import { everyCase } from '../../support/everyCase.js';
import { createTestDatabase } from '../../support/postgres.js';

const at = new Date('2027-01-01T00:00:00.000Z');
const category = (tenantId: string, id = v7()) => ({
  tenantId,
  id,
  ...{ categoryName: id, reviewOften: 'YEARLY', reviewRecurring: true, createdAt: at, updatedAt: at },
});
const secret = (tenantId: string) => {
  return { tenantId, id: v7(), apiClientId: v7(), secretHash: new Uint8Array(32), hint: 'x', createdAt: at };
};
/** Lets a tenant be undefined at run time, which the compiler would reject. */
const missing = JSON.parse('{}') as { tenantId: string };
const withoutTenantId = { ...category('a'), tenantId: missing.tenantId };

const database = await createTestDatabase();
const db = openDatabase(database.url);
await db.prisma.tenant.create({ data: { id: 'a', name: 'A', mode: 'live', createdAt: at, updatedAt: at } });
await db.prisma.category.create({ data: category('a') });

afterAll(async () => {
  await db.close();
  await database.drop();
});

type Queries = Readonly<Record<string, (tx: Models) => Promise<unknown>>>;
const nameOf = ([name]: readonly [string, unknown]): string => name;
const key = { tenantId_id: { tenantId: 'a', id: v7() } };

const nobody = { tenantId_id: { tenantId: '', id: v7() } };
const withoutTenant: Queries = {
  findMany: (tx) => tx.category.findMany(),
  'findMany by a tenant that is undefined': (tx) => tx.category.findMany({ where: { tenantId: missing.tenantId } }),
  'findMany by an empty tenant': (tx) => tx.category.findMany({ where: { tenantId: '' } }),
  'findMany by a tenant in OR': (tx) => tx.category.findMany({ where: { OR: [{ tenantId: 'a' }, {}] } }),
  'findMany by every other tenant': (tx) => tx.category.findMany({ where: { NOT: { tenantId: 'a' } } }),
  'findMany by any tenant': (tx) => tx.category.findMany({ where: { tenantId: { not: 'a' } } }),
  findFirst: (tx) => tx.category.findFirst({ where: { categoryName: 'x' } }),
  findFirstOrThrow: (tx) => tx.category.findFirstOrThrow(),
  'findUnique by an empty tenant': (tx) => tx.apiClientSecret.findUnique({ where: nobody }),
  'findUniqueOrThrow by an empty tenant': (tx) => tx.apiClientSecret.findUniqueOrThrow({ where: nobody }),
  count: (tx) => tx.category.count(),
  aggregate: (tx) => tx.category.aggregate({ _count: true }),
  groupBy: (tx) => tx.category.groupBy({ by: ['reviewOften'], _count: true }),
  create: (tx) => tx.category.create({ data: withoutTenantId }),
  'createMany with one row without a tenant': (tx) =>
    tx.category.createMany({ data: [category('a'), withoutTenantId] }),
  createManyAndReturn: (tx) => tx.category.createManyAndReturn({ data: [withoutTenantId] }),
  'update by an empty tenant': (tx) => tx.apiClientSecret.update({ where: nobody, data: { hint: 'x' } }),
  updateMany: (tx) => tx.category.updateMany({ data: { reviewOften: 'MONTHLY' } }),
  'updateMany with the tenant only in data': (tx) => tx.category.updateMany({ data: { tenantId: 'a' } }),
  'upsert by an empty tenant': (tx) => tx.apiClientSecret.upsert({ where: nobody, create: secret('a'), update: {} }),
  'upsert that creates without a tenant': (tx) =>
    tx.category.upsert({
      where: key,
      update: {},
      create: withoutTenantId,
    }),
  'delete by an empty tenant': (tx) => tx.apiClientSecret.delete({ where: nobody }),
  deleteMany: (tx) => tx.category.deleteMany(),
  'findMany of apiClient by client_id': (tx) => tx.apiClient.findMany({ where: { clientId: 'x' } }),
  'findMany by no tenants': (tx) => tx.category.findMany({ where: { tenantId: { in: [missing.tenantId] } } }),
  'findMany of tenants with their patients': (tx) => tx.tenant.findMany({ select: { id: true, patients: {} } }),
};

const withTenant: Queries = {
  findMany: (tx) => tx.category.findMany({ where: { tenantId: 'a' } }),
  'findMany by a tenant in AND': (tx) => tx.category.findMany({ where: { AND: [{ tenantId: 'a' }, { id: v7() }] } }),
  'findUnique by the compound key': (tx) => tx.category.findUnique({ where: key }),
  'findUnique by id and tenant': (tx) =>
    tx.apiClientSecret.findUnique({ where: { tenantId_id: { id: v7(), tenantId: 'a' } } }),
  count: (tx) => tx.category.count({ where: { tenantId: 'a' } }),
  groupBy: (tx) => tx.category.groupBy({ by: ['reviewOften'], where: { tenantId: 'a' }, _count: true }),
  create: (tx) => tx.category.create({ data: category('a') }),
  createMany: (tx) => tx.category.createMany({ data: [category('a'), category('a')] }),
  updateMany: (tx) => tx.category.updateMany({ where: { tenantId: 'a' }, data: { reviewOften: 'MONTHLY' } }),
  upsert: (tx) =>
    tx.category.upsert({
      where: key,
      update: {},
      create: category('a'),
    }),
  deleteMany: (tx) => tx.category.deleteMany({ where: { tenantId: 'a', categoryName: 'none' } }),
  'findMany of a model that no tenant owns': (tx) => tx.refState.findMany({ take: 1 }),
  'findFirst of apiClient by client_id': (tx) => tx.apiClient.findFirst({ where: { clientId: 'x' } }),
  'findMany of several tenants': (tx) => tx.category.findMany({ where: { tenantId: { in: ['a', 'b'] } } }),
  'findMany by a composite relation': (tx) =>
    tx.category.findMany({ where: { tenantId: 'a' }, include: { tenant: true, subcategories: true } }),
  'findMany of tenants with rows of a named one': (tx) =>
    tx.tenant.findMany({ include: { patients: { where: { tenantId: 'a' } } } }),
};

describe('a query on a tenant-owned model that names no tenant', () => {
  it('is rejected, inside and outside of a transaction', () =>
    everyCase(Object.entries(withoutTenant), nameOf, async ([, query]) => {
      await expect((async () => query(db.prisma))()).rejects.toThrow(/names no tenantId/);
      await expect(db.prisma.$transaction(async (tx) => query(tx))).rejects.toThrow(/names no tenantId/);
    }));

  it('is rejected in a batch, which then changes no row', async () => {
    const before = await db.prisma.category.count({ where: { tenantId: 'a' } });
    await expect(
      db.prisma.$transaction([db.prisma.category.create({ data: category('a') }), db.prisma.category.deleteMany()]),
    ).rejects.toThrow('Category.deleteMany names no tenantId');
    expect(await db.prisma.category.count({ where: { tenantId: 'a' } })).toBe(before);
  });

  it('is rejected for every table that has a tenant', async () => {
    const rows = await db.prisma.$queryRaw<object[]>`
      SELECT FROM information_schema.columns WHERE column_name = 'tenant_id'`;
    const refused = Object.values(Prisma.ModelName).filter((model) => {
      try {
        assertTenantNamed(model, 'findMany', undefined);
        return false;
      } catch {
        return true;
      }
    });
    expect(refused).toHaveLength(rows.length);
    expect(rows.length).toBeGreaterThan(10);
  });
});

describe('a query that names its tenant, or needs none,', () => {
  it('runs', () =>
    everyCase(Object.entries(withTenant), nameOf, async ([, query]) => {
      await query(db.prisma);
      await db.prisma.$transaction(async (tx) => query(tx));
    }));
});
