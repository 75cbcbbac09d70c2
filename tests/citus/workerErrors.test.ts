import { Client } from 'pg';
import { v7 } from 'uuid';
import { openDatabase } from '../../src/adapters/database/database.js';
import { isUnavailable, isUniqueViolation, sqlState } from '../../src/adapters/database/databaseErrors.js';
import { tenantInsertion } from '../../src/domain/transactions/bulkSql.js';
import { createTestDatabase } from '../support/postgres.js';

const { url, drop } = await createTestDatabase();
const db = openDatabase(url);
const other = new Client({ connectionString: url });
await other.connect();
afterAll(() => Promise.all([db.close(), other.end()]).then(drop));
await other.query(
  `INSERT INTO tenant (id, name, mode, created_at, updated_at) VALUES ('a', 'a', 'live', now(), now())`,
);

const category = (categoryName: string) => ({
  ...{ id: v7(), categoryName, reviewOften: 'YEARLY', reviewRecurring: true },
  ...{ createdAt: new Date(), updatedAt: new Date() },
});
/** Citus copies the rows to the worker, whose error it repeats as an internal one. */
const failure = (...names: string[]): Promise<unknown> =>
  db
    .of('a')
    .run(tenantInsertion('a', 'category', names.map(category)))
    .catch((error: unknown) => error);

it('a unique violation on a worker is recognized by the name of the constraint', async () => {
  const error = await failure('Skin', 'Skin');
  expect(isUniqueViolation(error, 'category_tenant_id_category_name_key')).toBe(true);
  expect(isUnavailable(error)).toBe(false);
});

it('a wait on a worker beyond the lock timeout counts as unavailability of the database', async () => {
  await other.query(`BEGIN; INSERT INTO category (id, tenant_id, category_name, review_often, review_recurring, created_at, updated_at)
    VALUES (gen_random_uuid(), 'a', 'Hair', 'YEARLY', true, now(), now())`);
  const error = await failure('Hair');
  await other.query('ROLLBACK');
  expect([sqlState(error), isUnavailable(error)]).toEqual(['55P03', true]);
});

it('a commit that the worker refuses fails as unavailable, and stores no row', async () => {
  // Citus commits these rows on the worker in one phase, and only warns when that commit fails.
  const ofNoCategory = db.everyTenant.run`
    INSERT INTO subcategory (id, tenant_id, category_id, sub_category_name, created_at, updated_at)
    SELECT gen_random_uuid(), id, ${v7()}::uuid, 'Face', now(), now() FROM tenant WHERE id = 'a'`;
  expect(await ofNoCategory.catch(isUnavailable)).toBe(true);
  expect((await other.query('SELECT FROM subcategory')).rowCount).toBe(0);
});
