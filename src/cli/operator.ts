import { setTimeout as delay } from 'node:timers/promises';
import { checkSchema, migrate } from '../adapters/migrations.js';
import { openDatabase } from '../adapters/database.js';
import { openEmbeddedPostgres } from '../adapters/embeddedPostgres.js';
import { readConfig } from '../config.js';
import type { DomainContext } from '../context.js';
import { domainContext } from '../domainContext.js';
import type { Terminal } from './terminal.js';

/** An operator waits longer than a caller: a catalog has thousands of rows. */
const TIMEOUT_MS = 120_000;

/**
 * Runs a command on the service's database: that of DATABASE_URL, else the embedded one in DATA_DIR, which is started
 * for the time of the command if no server runs it. A signal ends the command; what it has begun is rolled back.
 * @throws Error when the database does not answer or its schema is not that of this build
 */
export async function withDatabase<T>(terminal: Terminal, work: (context: DomainContext) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = readConfig(terminal.environment);
  const database = databaseUrl === null ? await openEmbedded(dataDir, terminal) : await openExternal(databaseUrl);
  const db = openDatabase(database.url, { poolSize: 2, timeoutMs: TIMEOUT_MS });
  // Our end rolls back what is under way. An embedded PostgreSQL that was started for us is told to go, not waited for.
  const stop = (): void => void Promise.race([database.close(), delay(1_000)]).finally(() => process.exit(1));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(domainContext(db));
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await db.$disconnect();
    await database.close();
  }
}

interface OpenDatabase {
  readonly url: string;
  close(): Promise<void>;
}

async function openEmbedded(dataDir: string, { err }: Terminal): Promise<OpenDatabase> {
  const embedded = await openEmbeddedPostgres({ dataDir, role: 'tool', log: (message) => err(`${message}\n`) });
  try {
    await migrate(embedded.url);
    return embedded;
  } catch (error) {
    await embedded.close();
    throw error;
  }
}

async function openExternal(url: string): Promise<OpenDatabase> {
  const schema = await checkSchema(url);
  if (schema.state === 'behind') {
    throw new Error(
      `The database of DATABASE_URL lacks migrations (${schema.pending.join(', ')}): run "make migrate".`,
    );
  }
  if (schema.state === 'unknown') {
    throw new Error(
      `The database of DATABASE_URL has migrations that this build does not know (${schema.names.join(', ')}): ` +
        'use the build that made them, or after an update run "make migrate".',
    );
  }
  return { url, close: async () => {} };
}
