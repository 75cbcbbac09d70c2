import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Logger, runMigrations } from 'graphile-worker';
import type { SchemaState } from '../database/migrations.js';
import { openPool } from '../database/openPool.js';
import { rowsOf } from '../database/withClient.js';

/** The job engine's schema in PostgreSQL; messages use the name, too. */
const SCHEMA = 'graphile_worker';
/** Number of the advisory lock for migrating; fixed, and unused elsewhere. */
const LOCK = 0x63_65_73_02;

/** Compares the job engine's tables with this build. @throws the driver's error, after 5 s without response */
export async function checkJobSchema(url: string): Promise<SchemaState> {
  const needed = await newestRevision();
  // The engine runs on later schemas unless a later migration is marked as breaking.
  const query = `SELECT coalesce(max(id), 0) AS newest, coalesce(max(id) FILTER (WHERE breaking), 0) AS breaking
    FROM ${SCHEMA}.migrations`;
  const [{ newest, breaking } = { newest: 0, breaking: 0 }] = await rowsOf<{ newest: number; breaking: number }>(
    url,
    `${SCHEMA}.migrations`,
    query,
  );
  if (breaking > needed) {
    return {
      state: 'unknown',
      reason: `This build does not know revision ${breaking} of ${SCHEMA} in the database. Deploy a newer build.`,
    };
  }
  return newest < needed ? { state: 'behind', pending: [SCHEMA] } : { state: 'current' };
}

/** Applies the engine's migrations and returns them; several processes may call it. */
export async function migrateJobSchema(url: string): Promise<string[]> {
  const pool = openPool({ connectionString: url, max: 2, connectionTimeoutMillis: 5_000 });
  try {
    // The lock ends with the pool's connection.
    await pool.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const schema = await checkJobSchema(url);
    if (schema.state === 'unknown') throw new Error(schema.reason);
    if (schema.state !== 'behind') return [];
    await runMigrations({ pgPool: pool, schema: SCHEMA, logger: new Logger(() => () => {}) });
    return [SCHEMA];
  } finally {
    await pool.end();
  }
}

/** The number of the newest migration in the engine's package, whose migrations are files numbered from 000001. */
async function newestRevision(): Promise<number> {
  const engine = dirname(createRequire(import.meta.url).resolve('graphile-worker/package.json'));
  const files = await readdir(join(engine, 'sql'));
  return Math.max(...files.map((name) => Number.parseInt(name, 10)).filter(Number.isInteger));
}
