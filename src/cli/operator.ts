import { setTimeout as delay } from 'node:timers/promises';
import { databaseClock, openDatabase } from '../adapters/database/database.js';
import { openObjectStore } from '../adapters/objects/openObjectStore.js';
import { type ObjectStore } from '../adapters/objects/objectStore.js';
import { openServiceDatabase } from '../runtime/serviceDatabase.js';
import { readConfig } from '../config.js';
import type { DomainContext } from '../context.js';
import { systemContext } from '../runtime/systemContext.js';
import type { CliIo } from './cliIo.js';
import { recordCommand } from './commandAudit.js';

/** An operator waits longer than a caller: a catalog has thousands of rows. */
const TIMEOUT_MS = 120_000;

/**
 * Runs a command on the service's database: that of DATABASE_URL, else the embedded one in DATA_DIR, which is started
 * for the command if no server runs it. The database's clock counts, because the operator's may be wrong. A signal ends
 * the command and rolls back its work. The command is recorded in the audit.
 * @param asOwner work as the role that owns the schema, which may do what the service's may not
 * @param interruption what a signal aborts instead, for work that has no other end
 * @throws Error when the database does not answer or its schema is not that of this build
 */
export async function withDatabase<T>(
  terminal: CliIo,
  work: (context: DomainContext) => Promise<T>,
  { asOwner = false, interruption }: { asOwner?: boolean; interruption?: AbortController } = {},
): Promise<T> {
  const { databaseUrl, databaseOwnerUrl, dataDir } = readConfig(terminal.environment);
  const database = await openServiceDatabase({
    databaseUrl,
    databaseOwnerUrl,
    dataDir,
    role: 'tool',
    applyMigrations: false,
    log: (message) => terminal.err(`${message}\n`),
  });
  const url = asOwner ? database.ownerUrl : database.url;
  const db = openDatabase(url, { poolSize: 2, timeoutMs: TIMEOUT_MS });
  // Closing the pool rolls back. Do not wait long for the embedded server.
  const exit = (): void => void Promise.race([database.close(), delay(1_000)]).finally(() => process.exit(1));
  const stop = interruption ? () => interruption.abort() : exit;
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await recorded(terminal, { ...systemContext(db), now: await databaseClock(db) }, work);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await db.$disconnect();
    await database.close();
  }
}

/**
 * Does the work of a command and records it, or that it failed. Nothing is shown of a command that could not be recorded.
 */
export async function recorded<T>(
  { command }: CliIo,
  context: DomainContext,
  work: (context: DomainContext) => Promise<T>,
): Promise<T> {
  if (!command) return work(context);
  const result = await work(context).catch(async (error: unknown) => {
    // What failed first is what the operator needs to know.
    await recordCommand(context, command, 'failed', null).catch(() => undefined);
    throw error;
  });
  await recordCommand(context, command, 'success', result);
  return result;
}

/** The store of the service's documents, to put objects into it. */
export function openStore(terminal: CliIo): Promise<ObjectStore> {
  const { dataDir, objectStore: store } = readConfig(terminal.environment);
  // Only links need the address of the service.
  return openObjectStore({ dataDir, store, baseUrl: () => '' });
}
