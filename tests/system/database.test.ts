import { Client } from 'pg';
import { v7 } from 'uuid';
import { openDatabase } from '../../src/adapters/database/database.js';
import { isUnavailable, isUniqueViolation, sqlState } from '../../src/adapters/database/databaseErrors.js';
import { createTestDatabase } from '../support/postgres.js';

const at = new Date('2027-11-07T05:30:00.000Z');
const times = { createdAt: at, updatedAt: at };
const category = (id = v7()) => ({
  ...{ tenantId: 'a', id, categoryName: id, reviewOften: 'YEARLY', reviewRecurring: true },
  ...times,
});

const database = await createTestDatabase();
const observer = new Client({ connectionString: database.url });
await observer.connect();
const name = new URL(database.url).pathname.slice(1);
await observer.query(`ALTER DATABASE ${name} SET TimeZone = 'America/New_York'`);
/** With one connection and a short timeout. */
const db = openDatabase(database.url, { poolSize: 1, timeoutMs: 1_500 });
await db.prisma.tenant.create({ data: { id: 'a', name: 'A', mode: 'live', ...times } });

afterAll(async () => {
  await db.close();
  await observer.end();
  await database.drop();
});

/** The error of the work; undefined if it succeeds. */
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error ?? 'undefined',
  );

const endSessions = () =>
  observer.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'clinical-encounter-service'`);

async function prepared(): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ statement: string }[]>`SELECT statement FROM pg_prepared_statements`;
  return rows.map(({ statement }) => statement);
}

describe('prepared statements', () => {
  it('are reused for queries of the same shape: one for the model, and one for each relation', async () => {
    const clinics = { include: { clinic: true } };
    const include = { category: true, offer: { include: { variants: true } }, availability: clinics };
    const list = (id: string) => db.prisma.product.findMany({ where: { tenantId: 'a', id }, include });
    await prepared();
    const before = await prepared();
    await list(v7());
    await list(v7());
    const added = (await prepared()).filter((statement) => !before.includes(statement));
    // The product, and its relations.
    expect(added).toHaveLength(6);
  });

  it('do not exceed 300 on a connection', async () => {
    for (let size = 1; size <= 320; size += 1) {
      const id = { in: Array.from({ length: size }, () => v7()) };
      await db.prisma.category.findMany({ where: { tenantId: 'a', id } });
    }
    expect((await prepared()).length).toBeLessThanOrEqual(300);
  });
});

describe('times', () => {
  it('are stored and read as the same instant when the server has another time zone', async () => {
    const { id } = await db.prisma.category.create({ data: category() });
    const sql = 'SELECT extract(epoch FROM created_at)::int AS at FROM category WHERE id = $1';
    expect((await observer.query(sql, [id])).rows).toEqual([{ at: at.getTime() / 1000 }]);
    const read = await db.prisma.category.findUniqueOrThrow({ where: { tenantId_id: { tenantId: 'a', id } } });
    expect(read.createdAt).toEqual(at);
  });
});

describe('isUniqueViolation', () => {
  it('recognizes the violated constraint by name, also in a transaction and in raw SQL', async () => {
    const row = await db.prisma.category.create({ data: category() });
    const sameName = { ...row, id: v7() };
    const attempts = [
      db.prisma.category.create({ data: sameName }),
      db.prisma.$transaction(async (tx) => tx.category.create({ data: sameName })),
      db.prisma.$executeRaw`INSERT INTO category (id, tenant_id, category_name, review_often, review_recurring,
          created_at, updated_at)
        SELECT gen_random_uuid(), tenant_id, category_name, review_often, review_recurring, created_at, updated_at
        FROM category WHERE id = ${row.id}::uuid`,
    ];
    for (const error of await Promise.all(attempts.map(failure))) {
      expect(isUniqueViolation(error, 'category_tenant_id_category_name_key')).toBe(true);
      expect(isUniqueViolation(error, 'category_pkey')).toBe(false);
      expect(isUnavailable(error)).toBe(false);
    }
  });

  it('is false for other errors', async () => {
    const orphan = await failure(db.prisma.category.create({ data: { ...category(), tenantId: 'b' } }));
    for (const error of [orphan, new Error('category_pkey'), undefined]) {
      expect(isUniqueViolation(error, 'category_tenant_id_fkey')).toBe(false);
    }
  });
});

describe('an error of a worker that Citus repeats with another code', () => {
  const raised = (state: string, message: string) =>
    failure(observer.query(`DO $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${state}'; END $$`));

  it.each([
    ['XX000', 'canceling statement due to lock timeout'],
    ['XX000', 'canceling statement due to statement timeout'],
    ['XX000', 'deadlock detected'],
    ['XX000', 'terminating connection due to unexpected postmaster exit'],
    ['XX000', 'failure on connection marked as essential: db1:5432'],
    ['XX000', 'could not find any shard placements for shardId 102008'],
    ['58030', 'failed to complete COPY on db1:5432'],
  ])('counts as unavailability: %s "%s"', async (state, message) => {
    expect(isUnavailable(await raised(state, message))).toBe(true);
  });

  it('counts as a unique violation by its message, and with another message or code not as unavailability', async () => {
    const twice = 'duplicate key value violates unique constraint "category_pkey_102008"';
    expect(isUniqueViolation(await raised('XX000', twice), 'category_pkey')).toBe(true);
    for (const [state, message] of [
      ['XX000', 'cache lookup failed'],
      ['58030', 'could not read block 1'],
      ['22000', 'deadlock detected'],
    ] as const) {
      expect(isUnavailable(await raised(state, message))).toBe(false);
    }
  });
});

describe('an error', () => {
  it('of the database contains no value of the refused row', async () => {
    const data = { id: 'not a slug', name: 'Jane', mode: 'live', ...times } as const;
    const error = await failure(db.prisma.tenant.create({ data }));
    expect(error).toMatchObject({ meta: { driverAdapterError: { cause: { originalCode: '23514' } } } });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/Jane|not a slug/);
  });
});

describe('a database that fails', () => {
  it('counts as unavailable when a statement exceeds its timeout, and serves the next statement', async () => {
    const start = Date.now();
    expect(isUnavailable(await failure(db.prisma.$queryRaw`SELECT 1 FROM pg_sleep(20)`))).toBe(true);
    expect(Date.now() - start).toBeLessThan(5_000);
    const asleep = await observer.query(`SELECT query FROM pg_stat_activity WHERE wait_event = 'PgSleep'
      AND datname = current_database()`);
    expect(asleep.rows).toEqual([]);
    expect(await db.prisma.tenant.count()).toBe(1);
  });

  it('counts as unavailable when it terminates the session of a query or transaction, and serves the next query', async () => {
    expect(isUnavailable(await failure(db.prisma.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`))).toBe(true);
    expect(await db.prisma.tenant.count()).toBe(1);
    const cut = db.prisma.$transaction(async (tx) => {
      await tx.category.create({ data: category() });
      await endSessions();
      await tx.category.create({ data: category() });
    });
    expect(isUnavailable(await failure(cut))).toBe(true);
    expect(await db.prisma.tenant.count()).toBe(1);
  });

  it('counts as unavailable for a transaction in a read-only session, and gives the next transaction a new session', async () => {
    const write = () =>
      db.transaction(async (tx) => ({
        result: await tx.of('a').run`UPDATE tenant SET name = name WHERE id = ${'a'}`,
        last: null,
      }));
    // A demoted primary leaves its sessions in this state.
    await db.everyTenant.run`SET default_transaction_read_only = on`;
    const refused = await failure(write());
    expect([sqlState(refused), isUnavailable(refused)]).toEqual(['25006', true]);
    expect(await write()).toBe(1);
  });

  it('rejects a transaction that PostgreSQL rolls back because a statement failed, even if the failure was ignored', async () => {
    const ignored = db.transaction(async (tx) => {
      await tx.of('a').run`UPDATE tenant SET name = 1 / 0 WHERE id = ${'a'}`.catch(() => undefined);
      return { result: 'done', last: null };
    });
    expect(await failure(ignored)).toMatchObject({
      message: 'the transaction was rolled back: rethrow the error of its statement',
    });
  });

  it('does not end the process when it terminates an idle connection', async () => {
    const other = openDatabase(database.url);
    const count = () => other.of('b').rows`SELECT FROM category WHERE tenant_id = ${'b'}`;
    await count();
    await endSessions();
    // The first attempt may still use the terminated connection.
    expect(await count().catch(count)).toEqual([]);
    await other.close();
  });

  it('is distinguished from internal errors, which do not count as unavailable', async () => {
    const ours = [
      new Error('x'),
      new TypeError('y'),
      undefined,
      await failure(db.prisma.$queryRaw`SELECT 1 / 0`),
      await failure(db.prisma.category.findUniqueOrThrow({ where: { tenantId_id: { tenantId: 'a', id: v7() } } })),
    ];
    expect(ours.map(isUnavailable)).toEqual(ours.map(() => false));
  });
});
