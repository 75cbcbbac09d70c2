import { Prisma, type Tenant } from '../../../generated/prisma/client.js';
import type { ObjectStore } from '../../adapters/objects/objectStore.js';
import type { Context, DomainContext } from '../../context.js';
import { Problem } from '../../problem.js';
import { identifier, insertion, inOneStatement } from '../transactions/bulkSql.js';
import { fixtureCatalog, fixtureEvents, fixtureObject, fixtureRows } from './fixtures.js';
import { requireSandbox } from './requireSandbox.js';
import { createTenant, type NewTenant } from '../access/tenants.js';
import { inTransaction, lockSandbox, type TransactionContext } from '../transactions/transaction.js';

/** Everything that a tenant owns but its API clients. */
export const resetTables = [
  'sweep_failure',
  'idempotency_key',
  'event',
  'payment',
  'order_line',
  'order',
  'gfe_item',
  'encounter_document',
  'encounter_treatment',
  'encounter',
  'document',
  'client',
  'clinic_availability',
  'offer_variant',
  'product_offer',
  'product_rx',
  'product',
  'subcategory',
  'category',
  'clinic_location',
  'clinic',
] as const;

/** What identifies a row within its tenant; `id` where nothing else is said. */
const keyColumns: Partial<Record<(typeof resetTables)[number], readonly string[]>> = {
  sweep_failure: ['row_id'],
  idempotency_key: ['api_client_id', 'operation_id', 'key'],
  encounter_document: ['encounter_id', 'document_id'],
};

/** The store as far as fixtures need it. */
export type FixtureStore = Pick<ObjectStore, 'provider' | 'container' | 'put'>;

/** The fixtures' document needs an API client that it is of; this one can do nothing. */
const FIXTURE_CLIENT = 'Sandbox fixtures';

/** How long a reset may take: a minute is enough for a hundred thousand encounters. */
const RESET_MS = 60_000;
const BATCH = 10_000;

/**
 * Restores the initial fixtures and real time; API clients stay. Waits for in-flight requests.
 * @throws Problem sandbox_only
 */
export async function resetSandbox(context: Context): Promise<void> {
  requireSandbox(context);
  const { tenantId } = context.caller;
  await storeFixtureObject(context, tenantId);
  const parts = { db: context.db, now: context.realNow, newId: context.newId, randomBytes: context.randomBytes };
  const work = async (transaction: TransactionContext): Promise<string[]> => {
    await lockForReset(transaction, tenantId);
    const documents = await transaction.db.document.findMany({ where: { tenantId }, select: { blobPath: true } });
    for (const table of resetTables) await empty(transaction, table, tenantId);
    const data = { clockOffsetMs: 0, updatedAt: transaction.now() };
    const tenant = await transaction.db.tenant.update({ where: { id: tenantId }, data });
    await insertFixtures(transaction, tenant, context.objects);
    return documents.map(({ blobPath }) => blobPath);
  };
  const stale = await inTransaction(parts, work, RESET_MS);
  await removeObjects(
    context,
    stale.filter((key) => key !== fixtureObject(tenantId).key),
  );
}

/**
 * Creates a sandbox tenant with the fixtures.
 * @throws Error when the name or the id is malformed or taken; Problem dependency_unavailable when the store fails
 */
export function createSandbox(
  context: DomainContext,
  wanted: Omit<NewTenant, 'mode'>,
  store: FixtureStore,
): Promise<Tenant> {
  return inTransaction(context, async (transaction) => {
    const tenant = await createTenant(transaction, { ...wanted, mode: 'sandbox' });
    await fillSandbox(transaction, tenant, store);
    return tenant;
  });
}

/**
 * Gives a new sandbox tenant the fixtures, in the transaction that creates it.
 * @param tenant one that owns nothing but API clients
 */
export async function fillSandbox(context: TransactionContext, tenant: Tenant, store: FixtureStore): Promise<void> {
  await storeFixtureObject({ objects: store }, tenant.id);
  await insertFixtures(context, tenant, store);
}

/**
 * Waits for the requests of the tenant that are under way, and lets no other begin. What works on encounters without a
 * request locks their rows first; so do we, or the two could wait for one another.
 */
async function lockForReset(context: TransactionContext, tenantId: string): Promise<void> {
  const { db } = context;
  await lockSandbox(context, tenantId);
  const locked = await db.$queryRaw<object[]>`
    SELECT id FROM tenant WHERE id = ${tenantId} AND mode = 'sandbox' FOR NO KEY UPDATE`;
  if (locked.length === 0) throw new Problem('sandbox_only');
  await db.$executeRaw`SELECT FROM encounter WHERE tenant_id = ${tenantId} ORDER BY id FOR UPDATE`;
}

async function insertFixtures(context: TransactionContext, tenant: Tenant, store: FixtureStore): Promise<void> {
  const { id: tenantId, currency } = tenant;
  const uploadedById = await fixtureClient(context, tenantId);
  const scene = { tenantId, currency, now: context.now(), newId: context.newId, uploadedById, store };
  const file = await fixtureCatalog();
  const sets = fixtureRows(scene, file);
  await context.db.$executeRaw(inOneStatement(sets.map(({ table, rows }) => insertion(table, rows))));
  context.events.push(...fixtureEvents(scene, file));
}

/** In parts that are done well within the time of a statement, however much there is. */
async function empty({ db }: TransactionContext, name: (typeof resetTables)[number], tenantId: string): Promise<void> {
  const table = identifier(name);
  const key = Prisma.join((keyColumns[name] ?? ['id']).map(identifier));
  let deleted: number;
  do {
    deleted = await db.$executeRaw`DELETE FROM ${table} WHERE tenant_id = ${tenantId}
      AND (${key}) IN (SELECT ${key} FROM ${table} WHERE tenant_id = ${tenantId} LIMIT ${BATCH})`;
  } while (deleted === BATCH);
}

async function fixtureClient(context: TransactionContext, tenantId: string): Promise<string> {
  const where = { tenantId_name: { tenantId, name: FIXTURE_CLIENT } };
  const known = await context.db.apiClient.findUnique({ where, select: { id: true } });
  if (known) return known.id;
  const id = context.newId();
  const now = context.now();
  const nothing = { permissions: [], allowedClinicIds: [], isActive: false };
  const row = { id, tenantId, clientId: `ces_fixtures_${id}`, name: FIXTURE_CLIENT, ...nothing };
  await context.db.apiClient.create({ data: { ...row, createdAt: now, updatedAt: now } });
  return id;
}

/** Before the row, as with every document: no row without its object. */
async function storeFixtureObject({ objects }: { readonly objects: FixtureStore }, tenantId: string): Promise<void> {
  const { key, content } = fixtureObject(tenantId);
  await objects.put(key, chunks(content), 'application/pdf');
}

async function* chunks(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

/** Their rows are gone, so they are waste: when the store fails they are left to the clean-up of such objects. */
async function removeObjects({ objects }: Context, keys: readonly string[]): Promise<void> {
  try {
    for (const key of keys) await objects.remove(key);
  } catch {
    return;
  }
}
