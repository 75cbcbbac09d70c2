import { inTransaction, inTurns, type BackgroundContext } from '../transactions/transaction.js';
import { lockingEndpoints } from '../webhooks/endpoints.js';

/** Maximum of rows in one transaction, few enough for the statement timeout. */
const BATCH_SIZE = 1_000;

/** Deletes idempotency keys after 24 hours, except locked ones. Safe to run concurrently. @returns how many */
export function purgeIdempotencyKeys(context: BackgroundContext): Promise<number> {
  return inTenants(
    context,
    (tenantId) => context.db.of(tenantId).run`
      WITH old AS (
        SELECT api_client_id, operation_id, key FROM idempotency_key
        WHERE tenant_id = ${tenantId} AND created_at < now() - interval '24 hours'
        ORDER BY created_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED
      )
      DELETE FROM idempotency_key AS stored USING old
      WHERE stored.tenant_id = ${tenantId} AND stored.api_client_id = old.api_client_id
        AND stored.operation_id = old.operation_id AND stored.key = old.key`,
  );
}

/** Deletes the requests of sandboxes with their bodies after an hour. @returns how many */
export function purgeExchanges(context: BackgroundContext): Promise<number> {
  return inTenants(
    context,
    (tenantId) => context.db.of(tenantId).run`
      DELETE FROM sandbox_exchange WHERE tenant_id = ${tenantId} AND request_id IN (
        SELECT request_id FROM sandbox_exchange WHERE tenant_id = ${tenantId} AND at < now() - interval '1 hour'
        LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)`,
  );
}

/** Deletes events older than 30 days, up to the first younger one: a gap would hide the purge from readers. */
export function purgeEvents(context: BackgroundContext): Promise<number> {
  const purgeSome = (tenantId: string): Promise<number> =>
    inTransaction(context, async ({ db }) => {
      // Lock the tenant before its events, as a reset of the sandbox does; the reverse order could deadlock.
      await db.of(tenantId).run`SELECT FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
      await db.of(tenantId).run(lockingEndpoints(tenantId));
      return db.of(tenantId).run`
      DELETE FROM event WHERE tenant_id = ${tenantId} AND position < (
        SELECT coalesce(min(position) FILTER (WHERE recorded_at >= now() - interval '30 days'), max(position) + 1)
        FROM (SELECT position, recorded_at FROM event WHERE tenant_id = ${tenantId} ORDER BY position LIMIT ${BATCH_SIZE})
          AS oldest)`;
    });
  return inTenants(context, purgeSome);
}

/** Calls `purgeSome` for the tenants in turn, again after a full batch. @returns the number of purged rows */
async function inTenants(
  context: BackgroundContext,
  purgeSome: (tenantId: string) => Promise<number>,
): Promise<number> {
  const tenants = await context.db.everyTenant.rows<{ tenantId: string }>`
    SELECT id AS "tenantId" FROM tenant ORDER BY id`;
  let purged = 0;
  const batch = async (tenant: { tenantId: string }): Promise<boolean> => {
    const count = await purgeSome(tenant.tenantId);
    purged += count;
    if (count === BATCH_SIZE) tenants.push(tenant);
    return count === BATCH_SIZE;
  };
  await inTurns(context, async () => tenants.splice(0), batch);
  return purged;
}
