import { checkSchema, GENERATION, migrate } from '../../src/adapters/database/migrations.js';
import {
  database,
  databaseWith,
  dropDatabases,
  migrations,
  namesOf,
  nextBuild,
  nextMigrations,
  rowsOf,
  tablesOf,
} from '../support/migrations.js';
import { createEmptyDatabase, createTestDatabase } from '../support/postgres.js';

const migrationNames = namesOf(migrations);
afterEach(dropDatabases);

describe('checkSchema', () => {
  const laterMigration = `INSERT INTO _prisma_migrations
    (id, checksum, finished_at, migration_name) VALUES ('1', 'x', now(), '20990101000000_later')`;
  const unknown = 'migrations that this build does not know: 20990101000000_later.';
  const unfinished = (name: string) => `unfinished migrations: ${name}.`;
  const changed = `migrations whose files were changed since they were applied: ${migrationNames.join(', ')}.`;
  const needs = `needs servers of generation ${GENERATION + 1} or later, and this build is of generation ${GENERATION}.`;

  it.each([
    [
      'a later migration that demands a later generation',
      `${laterMigration};
      CREATE OR REPLACE FUNCTION oldest_generation() RETURNS INTEGER LANGUAGE sql AS 'SELECT ${GENERATION + 1}'`,
      [unknown, needs],
    ],
    ['a later migration without oldest_generation()', `${laterMigration}; DROP FUNCTION oldest_generation`, [unknown]],
    [
      'a later migration that never finished',
      `${laterMigration}; UPDATE _prisma_migrations SET finished_at = NULL WHERE id = '1'`,
      [unfinished('20990101000000_later')],
    ],
    ['a migration that was changed since it was applied', `UPDATE _prisma_migrations SET checksum = 'x'`, [changed]],
    [
      'a later migration and a changed one',
      `UPDATE _prisma_migrations SET checksum = 'x'; ${laterMigration}`,
      [changed, unknown],
    ],
    [
      'a migration that never finished',
      'UPDATE _prisma_migrations SET finished_at = NULL',
      [unfinished(migrationNames.join(', '))],
    ],
  ])('names %s as the reason for an unknown schema, and migrate refuses it', async (_name, change, reasons) => {
    const url = await database(createTestDatabase);
    await rowsOf(url, change);
    const schema = await checkSchema(url);
    const reason = schema.state === 'unknown' ? schema.reason : 'not unknown';
    for (const each of reasons) expect(reason).toContain(each);
    expect(reason.match(/The database has/g)).toHaveLength(reasons.includes(needs) ? 1 : reasons.length);
    await expect(migrate(url)).rejects.toThrow(reason);
  });

  it('calls a schema "newer" if it records a later migration and admits this generation, and migrate applies nothing', async () => {
    const url = await database(createTestDatabase);
    await rowsOf(url, laterMigration);
    expect(await checkSchema(url)).toEqual({ state: 'newer', names: ['20990101000000_later'] });
    expect(await migrate(url)).toEqual([]);
  });

  it('calls a schema "unknown" if it lacks a migration of this build and has a later one', async () => {
    const url = await databaseWith(nextMigrations.slice(1));
    await rowsOf(url, laterMigration);
    expect(await checkSchema(url, nextBuild)).toMatchObject({ state: 'unknown' });
  });

  it('accepts this build: no migration requires a later server generation than it has', async () => {
    const [row] = await rowsOf(await database(createTestDatabase), 'SELECT oldest_generation() AS oldest');
    expect(row?.['oldest']).toBeLessThanOrEqual(GENERATION);
  });

  it('calls an empty database "behind" without changing it, and a migrated one "current"', async () => {
    const [empty, migrated] = [await database(createEmptyDatabase), await database(createTestDatabase)];
    expect(await checkSchema(empty)).toEqual({ state: 'behind', pending: migrationNames });
    expect(await tablesOf(empty)).toEqual([]);
    expect(await checkSchema(migrated)).toEqual({ state: 'current' });
  });

  it('ignores a migration that was rolled back', async () => {
    const url = await database(createTestDatabase);
    await rowsOf(url, 'UPDATE _prisma_migrations SET finished_at = NULL, rolled_back_at = now()');
    expect(await checkSchema(url)).toEqual({ state: 'behind', pending: migrationNames });
  });
});
