import { setTimeout as delay } from 'node:timers/promises';
import { databaseClock, openDatabase } from '../adapters/database/database.js';
import { UnknownOutcome } from '../adapters/database/databaseErrors.js';
import { openObjectStore } from '../adapters/objects/openObjectStore.js';
import { type ObjectStore } from '../adapters/objects/objectStore.js';
import { configuredDatabase, type ServiceDatabase } from '../runtime/configuredDatabase.js';
import { openServiceDatabase } from '../runtime/serviceDatabase.js';
import { readConfig } from '../config.js';
import { causeOf } from '../failures.js';
import type { Caller, DomainContext } from '../context.js';
import { findTenant } from '../domain/access/tenants.js';
import { clockOffset } from '../domain/sandbox/clock.js';
import { aheadOf, inTransaction, type CallerContext } from '../domain/transactions/transaction.js';
import { systemContext } from '../runtime/systemContext.js';
import type { CliIo } from './cliIo.js';
import { PROGRAM } from './command.js';
import { recordCommand } from './commandAudit.js';

/** The place of the configured database, and the options for opening it for a command. */
export function databasePlace({ environment, err }: CliIo) {
  const { databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir } = readConfig(environment);
  const log = (message: string): void => err(`${message}\n`);
  return { databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir, role: 'tool', log } as const;
}

/** Milliseconds for a statement in {@link withDatabase}; long, because a catalog has thousands of rows. */
const TIMEOUT_MS = 120_000;

/**
 * Runs a command on the configured database, starting the embedded one if necessary, and audits the command. Uses the
 * database's clock, because the operator's may be wrong.
 * @throws Error if the database does not answer, or its schema needs a migration or another build; as {@link recorded}
 */
export async function withDatabase<T>(
  terminal: CliIo,
  work: (context: DomainContext) => Promise<T>,
  { asOwner = false }: { asOwner?: boolean } = {},
): Promise<T> {
  const database = await openServiceDatabase({ ...databasePlace(terminal), applyMigrations: false });
  const url = asOwner ? database.ownerUrl : database.url;
  const db = openDatabase(url, { poolSize: 2, timeoutMs: TIMEOUT_MS });
  // The end of the process rolls back an open transaction. Wait only briefly for the embedded server to stop.
  const exit = (): void => void Promise.race([database.close(), delay(1_000)]).finally(() => process.exit(1));
  process.once('SIGINT', exit).once('SIGTERM', exit);
  try {
    return await recorded(terminal, { ...systemContext(db), now: await databaseClock(db) }, work);
  } finally {
    process.off('SIGINT', exit).off('SIGTERM', exit);
    await db.close();
    await database.close();
  }
}

/** Runs work on the configured database without checking its schema, and closes the database. */
export async function withAnySchema<T>(
  terminal: CliIo,
  work: (database: ServiceDatabase, log: (message: string) => void) => Promise<T>,
): Promise<T> {
  const place = databasePlace(terminal);
  const database = await configuredDatabase(place);
  try {
    return await work(database, place.log);
  } finally {
    await database.close();
  }
}

/** Runs work on the database of this address, and audits the command there. */
export async function recordedOn<T>(
  terminal: CliIo,
  url: string,
  work: (context: DomainContext) => Promise<T>,
): Promise<T> {
  const db = openDatabase(url, { poolSize: 1 });
  try {
    return await recorded(terminal, { ...systemContext(db), now: await databaseClock(db) }, work);
  } finally {
    await db.close();
  }
}

export function withTenant<T>(
  terminal: CliIo,
  tenant: string,
  work: (context: DomainContext, tenantId: string) => Promise<T>,
): Promise<T> {
  return withDatabase(terminal, async (context) => work(context, (await findTenant(context, tenant)).id));
}

/** Runs work by the tenant's clock and with the rights of a caller who may see the whole tenant. */
export function forTenant<T>(
  terminal: CliIo,
  tenant: string,
  work: (context: DomainContext & Pick<CallerContext, 'caller'>) => Promise<T>,
): Promise<T> {
  return withTenant(terminal, tenant, async (context, tenantId) => {
    const now = aheadOf(context.now, await clockOffset(context, tenantId));
    return work({ ...context, now, caller: wholeTenant(tenantId) });
  });
}

/** {@link forTenant} in one transaction. */
export function inTenant<T>(
  terminal: CliIo,
  tenant: string,
  work: (transaction: CallerContext, tenantId: string) => Promise<T>,
): Promise<T> {
  return forTenant(terminal, tenant, ({ caller, ...context }) =>
    inTransaction(context, (transaction) => work({ ...transaction, caller }, caller.tenantId)),
  );
}

/** The operator as a caller who is not limited to clinics or pharmacies. */
export const wholeTenant = (tenantId: string): Caller => ({
  ...{ tenantId, tenantMode: 'live', apiClientId: '', clientId: '', permissions: new Set() },
  ...{ allowedClinicIds: null, allowedPharmacyIds: null },
});

/** Runs a command and audits its outcome. @throws if `work` or the audit fails: no unaudited result is shown */
export async function recorded<T>(
  { command }: CliIo,
  context: DomainContext,
  work: (context: DomainContext) => Promise<T>,
): Promise<T> {
  if (!command) return work(context);
  const result = await work(context).catch(async (error: unknown) => {
    // If the audit fails, too, report only the command's error.
    const outcome = error instanceof UnknownOutcome ? 'unknown' : 'failed';
    await recordCommand(context, command, outcome, null).catch(() => undefined);
    throw error;
  });
  await recordCommand(context, command, 'success', result).catch((error: unknown) => {
    const advice =
      `Correct what "${PROGRAM} doctor" reports. Then repeat "patient erase" and "backup complete", and "restore" into ` +
      'an empty database; before you repeat another command, see what it has changed.';
    const state = "The command's changes, if any, remain, but their audit failed";
    throw new Error(`${state}: ${causeOf(error)}. ${advice}`, { cause: error });
  });
  return result;
}

export function openStore(terminal: CliIo): Promise<ObjectStore> {
  const { dataDir, objectStore: store } = readConfig(terminal.environment);
  return openObjectStore({ dataDir, store });
}
