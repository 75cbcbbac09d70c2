import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import type { Pool } from 'pg';
import { packageRoot } from '../../packageRoot.js';
import { openPool } from './openPool.js';
import { rowsOf } from './withClient.js';

// Node has it, but neither @types/node 20 nor a lib without the DOM declares it.
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
};

const everything = { externalTables: [], externalEnums: [] };

/** How the database's schema relates to this build's migrations; a server works only on `current`. */
export type SchemaState =
  | { readonly state: 'current' }
  /** `pending`: migrations that are still to be applied. */
  | { readonly state: 'behind'; readonly pending: string[] }
  /** `names`: recorded migrations that this build does not have, has otherwise, or that never finished. */
  | { readonly state: 'unknown'; readonly names: string[] };

/** Compares `_prisma_migrations` with prisma/migrations. @throws the driver's error, after 5 s of silence, too */
export async function checkSchema(url: string): Promise<SchemaState> {
  const known = await readMigrations();
  const recorded = await rowsOf<{ name: string; checksum: string; finished: boolean }>(
    url,
    '_prisma_migrations',
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
        FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name`,
  );
  const isKnown = (name: string, checksum: string): boolean =>
    known.some((migration) => migration.name === name && migration.checksum === checksum);
  const strange = recorded.filter(({ name, checksum, finished }) => !finished || !isKnown(name, checksum));
  if (strange.length > 0) return { state: 'unknown', names: strange.map(({ name }) => name) };
  const pending = known.map(({ name }) => name).filter((name) => !recorded.some((row) => row.name === name));
  return pending.length > 0 ? { state: 'behind', pending } : { state: 'current' };
}

/**
 * Applies every pending migration in one transaction with its records, so none can use CONCURRENTLY. Prisma's engine,
 * table and lock are used: any number of processes may call it, or `prisma migrate deploy|status` as well.
 * @returns the names applied by this call.
 * @throws Error naming the migration when its script fails, or when the schema is unknown to this build.
 */
export async function migrate(url: string, log: (message: string) => void = () => {}): Promise<string[]> {
  const before = await checkSchema(url);
  if (before.state === 'current') return [];
  if (before.state === 'unknown') {
    throw new Error(`The database holds migrations that this build does not know: ${before.names.join(', ')}`);
  }
  const migrations = await readMigrations();
  const lockfile = { path: 'migration_lock.toml', content: await readFile(folder('migration_lock.toml'), 'utf8') };
  const migrationDirectories = migrations.map(({ name, sql }) => ({
    path: name,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: sql } },
  }));

  return withEngine(url, async (engine, connection, failure) => {
    // The engine's own lock, taken first because the engine would wait for it no longer than 10 s.
    await connection.query('SELECT pg_advisory_lock(72707369)');
    await connection.query(`BEGIN; SET LOCAL TIME ZONE 'UTC'`);
    const { appliedMigrationNames } = await engine
      .applyMigrations({
        migrationsList: { baseDir: fileURLToPath(folder()), lockfile, shadowDbInitScript: '', migrationDirectories },
        filters: everything,
      })
      .catch((error: unknown) => {
        const name = migrations.find(({ sql }) => sql === failure()?.script)?.name;
        const what = name ? `Migration ${name} was` : 'Migrations were';
        const cause = failure()?.error ?? error;
        throw new Error(`${what} not applied: ${String(cause)}`, { cause });
      });
    await connection.query('COMMIT');
    // A connection lost just before would have been replaced by one without a transaction, which "commits" as well.
    if ((await checkSchema(url)).state !== 'current') throw new Error('Migrations were not applied: connection lost');
    for (const name of appliedMigrationNames) log(`Applied migration ${name}`);
    return appliedMigrationNames;
  });
}

/** The SQL from an older schema.prisma, or from nothing, to the present one. The engine only connects to `url`. */
export async function schemaDiff(url: string, olderSchema?: string): Promise<string> {
  const tag = 'schemaDatamodel' as const;
  const datamodel = (content: string) => ({ tag, files: [{ path: 'schema.prisma', content }] });
  const present = await readFile(new URL('prisma/schema.prisma', packageRoot), 'utf8');
  return withEngine(url, async (engine) => {
    const from = olderSchema === undefined ? { tag: 'empty' as const } : datamodel(olderSchema);
    const diff = { from, to: datamodel(present), script: true, exitCode: null, filters: everything };
    return (await engine.diff(diff)).stdout ?? '';
  });
}

type Failure = { readonly script: string; readonly error: unknown };

/** Runs Prisma's schema engine (WebAssembly) on one connection. Ending it rolls back what was not committed. */
async function withEngine<T>(
  url: string,
  work: (engine: bindings.SchemaEngine, connection: Pool, failure: () => Failure | undefined) => Promise<T>,
): Promise<T> {
  await loadEngine();
  const pool = openPool({ connectionString: url, max: 1, idleTimeoutMillis: 0, connectionTimeoutMillis: 5_000 });
  let failure: Failure | undefined;
  const adapter = new PrismaPg(pool);
  const factory: SqlMigrationAwareDriverAdapterFactory = {
    provider: adapter.provider,
    // Prisma's own executeScript cuts scripts at every semicolon, also in comments, texts and functions.
    connect: async () =>
      Object.assign(await adapter.connect(), {
        executeScript: async (script: string) => {
          await pool.query(script).catch((error: unknown) => {
            failure ??= { script, error };
            throw error;
          });
        },
      }),
    adapterName: adapter.adapterName,
    connectToShadowDb: () => adapter.connectToShadowDb(),
  };
  try {
    const bound = bindMigrationAwareSqlAdapterFactory(factory);
    const engine = await bindings.SchemaEngine.new({ datamodels: undefined }, () => {}, bound);
    return await work(engine, pool, () => failure);
  } finally {
    await pool.end();
  }
}

let engineLoaded: Promise<void> | undefined;

/** Node 20 cannot import a .wasm file by itself, so the engine's bindings are joined with it here. */
async function loadEngine(): Promise<void> {
  engineLoaded ??= (async () => {
    const engine = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm');
    // The engine never clears the timer of its lock, which would keep a program alive for 10 s after its work.
    const timers = Object.keys(bindings).filter((name) => name.startsWith('__wbg_setTimeout'));
    const unref = (callback: () => void, ms: number) => setTimeout(callback, ms).unref();
    const imports = { ...bindings, ...Object.fromEntries(timers.map((name) => [name, unref])) };
    const program = await readFile(engine.replace(/\.js$/, '_bg.wasm'));
    const { instance } = await WebAssembly.instantiate(program, { './schema_engine_bg.js': imports });
    bindings.__wbg_set_wasm(instance.exports);
    instance.exports.__wbindgen_start();
  })();
  await engineLoaded;
}

function folder(path = ''): URL {
  return new URL(`prisma/migrations/${path}`, packageRoot);
}

async function readMigrations() {
  const entries = await readdir(folder(), { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(folder(`${name}/migration.sql`), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
