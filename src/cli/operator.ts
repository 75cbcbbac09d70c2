import { setTimeout as delay } from 'node:timers/promises';
import { databaseClock, openDatabase } from '../adapters/database/database.js';
import { openObjectStore } from '../adapters/objects/openObjectStore.js';
import { type ObjectStore } from '../adapters/objects/objectStore.js';
import { openServiceDatabase } from '../runtime/serviceDatabase.js';
import { readConfig } from '../config.js';
import type { DomainContext } from '../context.js';
import { domainContext } from '../runtime/systemContext.js';
import type { Terminal } from './cliIo.js';

/** An operator waits longer than a caller: a catalog has thousands of rows. */
const TIMEOUT_MS = 120_000;

/**
 * Runs a command on the service's database: that of DATABASE_URL, else the embedded one in DATA_DIR, which is started
 * for the time of the command if no server runs it. Time is that of the database, because the clock of an operator's own
 * machine may be wrong. A signal ends the command; what it has begun is rolled back.
 * @throws Error when the database does not answer or its schema is not that of this build
 */
export async function withDatabase<T>(terminal: Terminal, work: (context: DomainContext) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = readConfig(terminal.environment);
  const database = await openServiceDatabase({
    databaseUrl,
    dataDir,
    role: 'tool',
    applyMigrations: false,
    log: (message) => terminal.err(`${message}\n`),
  });
  const db = openDatabase(database.url, { poolSize: 2, timeoutMs: TIMEOUT_MS });
  // Our end rolls back what is under way. An embedded PostgreSQL that was started for us is told to go, not waited for.
  const stop = (): void => void Promise.race([database.close(), delay(1_000)]).finally(() => process.exit(1));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work({ ...domainContext(db), now: await databaseClock(db) });
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await db.$disconnect();
    await database.close();
  }
}

/** The store of the service's documents, to put objects into it. */
export function openStore(terminal: Terminal): Promise<ObjectStore> {
  const { dataDir, objectStore: store } = readConfig(terminal.environment);
  // Only links need the address of the service.
  return openObjectStore({ dataDir, store, baseUrl: () => '' });
}
