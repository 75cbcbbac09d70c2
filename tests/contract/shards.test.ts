import { readdirSync, readFileSync } from 'node:fs';
import { database, dropDatabases, rowsOf } from '../support/migrations.js';
import { createTestDatabase } from '../support/postgres.js';

/** Tables without a tenant in their keys: the record of migrations, jobs, the states of countries, signing keys, and the tenants. */
const others = ['_prisma_migrations', 'job_run', 'ref_state', 'signing_key', 'tenant'];

afterAll(dropDatabases);

describe('the layout of a Citus cluster', () => {
  it('fits the schema: tables of tenants have tenant_id in primary key, unique indexes and foreign keys', async () => {
    const url = await database(createTestDatabase);
    const rows = await rowsOf(
      url,
      `SELECT relname AS table, indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
         WHERE indisunique AND relnamespace = 'public'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = indrelid AND attname = 'tenant_id' AND attnum = ANY (indkey))
       UNION ALL SELECT relname, format('%I has no primary key', relname) FROM pg_class
         WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)
       UNION ALL SELECT relname, conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
         WHERE contype = 'f' AND relnamespace = 'public'::regnamespace
           AND pg_get_constraintdef(pg_constraint.oid) NOT LIKE 'FOREIGN KEY (tenant_id%'`,
    );
    const faults = rows.filter(({ table }) => !others.includes(String(table))).map(({ name }) => name);
    expect(faults).toEqual([]);
  });

  it('fits the SQL statements: none uses ctid, or now() in ON CONFLICT', () => {
    const clock = /ON CONFLICT[^`]*?(?<![.{])\bnow\(\)/;
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const strays = files.filter((file) => {
      const text = readFileSync(`src/${file}`, 'utf8');
      return /\bctid\b/.test(text) || clock.test(text);
    });
    expect(strays).toEqual([]);
  });
});
