/**
 * `make bench-restore`: measures backup, verification and restore of a tenant with RESTORE_ROWS encounters (default 100,000)
 * and a tenth as many documents of 100 kB, on Debian's PostgreSQL and the file store, and prints the seconds.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { openObjectStore } from '../../src/adapters/objects/openObjectStore.js';
import { runCommand } from '../../src/cli/program.js';
import { readConfig } from '../../src/config.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { startDebianPostgres } from '../../tests/support/debianPostgres.js';
import { seedTenant } from './growthSeed.js';

const ROWS = Number(process.env['RESTORE_ROWS'] ?? 100_000);
const BYTES = 100_000;
const { port, dataDir: folder, superuser, remove } = await startDebianPostgres();
const statements = [
  `CREATE ROLE bench SUPERUSER LOGIN PASSWORD 'bench'`,
  'CREATE DATABASE source',
  'CREATE DATABASE target',
];
const env = { ...process.env, ...superuser };
await promisify(execFile)(
  'psql',
  statements.flatMap((statement) => ['-c', statement]),
  { env },
);

const environmentOf = (database: string) => ({
  DATABASE_URL: `postgresql://bench:bench@127.0.0.1:${port}/${database}`,
  DATA_DIR: join(folder, database),
  PATH: process.env['PATH'] ?? '',
});

async function seed(): Promise<void> {
  const environment = environmentOf('source');
  const { DATABASE_URL: url, DATA_DIR: dataDir } = environment;
  await migrateDatabase({ ownerUrl: url, url });
  const store = await openObjectStore({ dataDir, store: readConfig(environment).objectStore });
  const digests: string[] = [];
  for (let number = 0; number < ROWS / 10; number += 1) {
    const content = randomBytes(BYTES);
    digests.push(createHash('sha256').update(content).digest('hex'));
    await store.put(`bench/${number}`, Readable.from([content]), 'image/png');
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(
    `INSERT INTO tenant (id, name, mode, created_at, updated_at) VALUES ('bench', 'bench', 'live', now(), now())`,
  );
  await seedTenant(client, 'bench', ROWS);
  await client.query(
    `INSERT INTO document (id, tenant_id, patient_id, doc_type, storage_provider, container, blob_path, content_type,
        size_bytes, checksum, file_name, original_filename, uploaded_by_id, created_at, updated_at)
      SELECT gen_random_uuid(), 'bench', client.id, 'id-card', 'file', '', 'bench/' || n - 1, 'image/png', $2, digest, '', '',
        (SELECT id FROM api_client), now(), now()
      FROM unnest($1::text[]) WITH ORDINALITY AS digests (digest, n), (SELECT id FROM client LIMIT 1) AS client`,
    [digests, BYTES],
  );
  await client.end();
}

async function measure(environment: ReturnType<typeof environmentOf>, ...args: readonly string[]): Promise<void> {
  const start = performance.now();
  const err = (text: string): unknown => process.stderr.write(text);
  const code = await runCommand(args, { environment, out: () => undefined, err, ask: undefined, screen: null });
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: correct what it printed above`);
  process.stdout.write(`${args.slice(0, -2).join(' ')}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

await seed();
const backup = join(folder, 'backup');
await measure(environmentOf('source'), 'backup', 'create', '--to', backup);
await measure(environmentOf('source'), 'backup', 'create', '--to', backup);
await measure(environmentOf('source'), 'backup', 'verify', '--from', backup);
await measure(environmentOf('target'), 'restore', '--from', backup);
await remove();
