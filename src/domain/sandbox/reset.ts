import { Prisma, type Tenant } from '../../../generated/prisma/client.js';
import type { AuditRow, Context, DomainContext } from '../../context.js';
import { Problem } from '../../problem.js';
import { identifier } from '../transactions/bulkSql.js';
import type { StoredFile } from '../documents/upload.js';
import { replayFixtures, storeFixtureFile, type FixtureStore } from './fixtures.js';
import { requireSandbox } from '../access/sandboxTenants.js';
import { configureTenant, createTenant, findTenant, type NewTenant } from '../access/tenants.js';
import { updateRows } from '../transactions/rows.js';
import { lockingEndpoints } from '../webhooks/endpoints.js';
import { inTransaction, lockForReset, type TransactionContext } from '../transactions/transaction.js';

/** The tables that a reset empties, in groups: references lead to later groups or kept tables, except deferred ones. */
const tableGroups = [
  [
    'sandbox_exchange',
    'webhook_delivery',
    'webhook_inbox',
    'webhook_inbox_message',
    'idempotency_key',
    'refund',
    'order_line',
    'encounter_addendum',
    'encounter_document',
    'encounter_information',
    'encounter_treatment',
    'clinic_availability',
    'offer_variant',
    'product_rx',
    'clinic_location',
  ],
  ['gfe_item', 'payment', 'document', 'event', 'product_offer'],
  ['order'],
  ['encounter', 'product'],
  ['client', 'clinic', 'subcategory'],
  ['category'],
] as const;

export const resetTables = tableGroups.flat();

/** The columns that identify a tenant's rows in tables that have no `id`. */
const keyColumns: Readonly<Record<string, readonly string[]>> = {
  sandbox_exchange: ['request_id'],
  webhook_inbox: ['tenant_id'],
  idempotency_key: ['api_client_id', 'operation_id', 'key'],
  encounter_document: ['encounter_id', 'document_id'],
};

const BATCH = 1_000n;
/** Maximum of objects removed while the caller waits; the clean-up of objects without a row removes the others. */
const MAX_REMOVED = 100;

/**
 * Restores fixtures and real time, after writes in progress; API clients stay (R-76). Commits the audit row `row`.
 * @throws Problem sandbox_only, sandbox_busy, dependency_unavailable
 */
export async function resetSandbox(context: Context, row: AuditRow): Promise<void> {
  requireSandbox(context);
  const { tenantId } = context.caller;
  const file = await storeFixtureFile(context.objects, tenantId);
  const parts = { db: context.db, now: context.realNow, newId: context.newId, randomBytes: context.randomBytes };
  const stale = await inTransaction(parts, async (transaction) => {
    await lockEverything(transaction, tenantId);
    const { db } = transaction;
    const documents = await db.of(tenantId).rows<{ blobPath: string }>`
      SELECT blob_path AS "blobPath" FROM document WHERE tenant_id = ${tenantId} LIMIT ${MAX_REMOVED}`;
    for (const tables of tableGroups) await empty(transaction, tables, tenantId);
    await forgetTimes(transaction, tenantId);
    await db.of(tenantId).run`
      UPDATE tenant SET clock_offset_ms = 0 WHERE id = ${tenantId}`;
    await fill(transaction, tenantId, file);
    transaction.audited.push(row);
    return documents.map(({ blobPath }) => blobPath).filter((key) => key !== file.blobPath);
  });
  await removeObjects(context, stale);
}

/** Creates a sandbox with fixtures (R-73). @throws Error for a bad or taken name or id; Problem dependency_unavailable */
export function createSandbox(
  context: DomainContext,
  wanted: Omit<NewTenant, 'mode'>,
  store: FixtureStore,
): Promise<Tenant> {
  return inTransaction(context, async (transaction) => {
    const tenant = await createTenant(transaction, { ...wanted, mode: 'sandbox' });
    await fillSandbox(transaction, tenant.id, store);
    return tenant;
  });
}

/** Fills a sandbox tenant with the fixtures, in the transaction that creates it. */
export async function fillSandbox(context: TransactionContext, tenantId: string, store: FixtureStore): Promise<void> {
  await fill(context, tenantId, await storeFixtureFile(store, tenantId));
}

/**
 * Creates the fixtures while the tenant temporarily has neutral settings: its own settings could refuse the provider of
 * the fixtures, or the age of their patients.
 */
async function fill(context: TransactionContext, tenantId: string, file: StoredFile): Promise<void> {
  const own = await findTenant(context, tenantId);
  await configureTenant(context, tenantId, { requireLicensedProvider: false, minimumAge: 0 });
  await replayFixtures(context, tenantId, file);
  await configureTenant(context, tenantId, own);
}

/**
 * Waits for the tenant's writes in progress and blocks new ones. Locks encounters and orders before their parts are
 * deleted: jobs lock in this order, too, and the reverse order could deadlock.
 */
async function lockEverything(context: TransactionContext, tenantId: string): Promise<void> {
  const { db } = context;
  await lockForReset(context, tenantId);
  const [locked] = await db.of(tenantId).rows<object>`
    SELECT FROM tenant WHERE id = ${tenantId} AND mode = 'sandbox' FOR NO KEY UPDATE`;
  if (!locked) throw new Problem('sandbox_only');
  await db.of(tenantId).run`SELECT FROM encounter WHERE tenant_id = ${tenantId} ORDER BY id FOR UPDATE`;
  await db.of(tenantId).run`SELECT FROM "order" WHERE tenant_id = ${tenantId} ORDER BY id FOR UPDATE`;
  // The job that creates deliveries locks this cursor, too, so it creates none during the reset.
  await db.of(tenantId).run`SELECT FROM webhook_cursor WHERE tenant_id = ${tenantId} FOR UPDATE`;
  await db.of(tenantId).run(lockingEndpoints(tenantId));
}

/** Deletes rows in batches, so that each statement stays within its timeout. */
async function empty({ db }: TransactionContext, tables: readonly string[], tenantId: string): Promise<void> {
  const deletions = tables.map((name) => {
    const table = identifier(name);
    const key = Prisma.join((keyColumns[name] ?? ['id']).map(identifier));
    return Prisma.sql`${identifier(`from_${name}`)} AS (DELETE FROM ${table} WHERE tenant_id = ${tenantId}
      AND (${key}) IN (SELECT ${key} FROM ${table} WHERE tenant_id = ${tenantId} LIMIT ${BATCH}) RETURNING true)`;
  });
  const counts = tables.map((name) => Prisma.sql`(SELECT count(*) FROM ${identifier(`from_${name}`)})`);
  let most: bigint | undefined;
  do {
    const [row] = await db.of(tenantId).rows<{ most: bigint }>`
      WITH ${Prisma.join(deletions)} SELECT greatest(${Prisma.join(counts)}) AS most`;
    most = row?.most;
  } while (most === BATCH);
}

/** Clears the attempts' times and the previous secrets of kept endpoints: their times may be in the future now. */
async function forgetTimes({ db }: TransactionContext, tenantId: string): Promise<void> {
  const never = { failingSince: null, lastSuccessAt: null, lastFailureAt: null };
  const data = { ...never, previousSecret: null, previousSecretUntil: null };
  await updateRows(db, tenantId, 'WebhookEndpoint', data, Prisma.sql`true`);
}

/** Removes objects whose rows are deleted. If the store fails, the clean-up of objects without a row removes them. */
async function removeObjects({ objects }: Context, keys: readonly string[]): Promise<void> {
  try {
    for (const key of keys) await objects.remove(key);
  } catch {
    return;
  }
}
