import { isUnavailable, sqlState } from '../../adapters/database/databaseErrors.js';
import { describeCauses } from '../../failures.js';
import { inTransaction, type BackgroundContext } from '../transactions/transaction.js';
import { lockingEndpoints } from '../webhooks/endpoints.js';

/** What a purge needs: the database, whose real time counts here, and a signal to end early. */
export interface PurgeContext extends BackgroundContext {
  readonly signal?: AbortSignal;
}

/** Rows in one transaction: few enough to be done well within the time of a statement. */
export const RETENTION_BATCH = 1_000;

/**
 * Removes the keys of all tenants, with the responses that they hold, 24 hours after they were used. A key that is
 * just being used again is locked and left alone. Safe to run concurrently.
 * @returns how many
 */
export function purgeIdempotencyKeys(context: PurgeContext): Promise<number> {
  return inTenants(
    context,
    (tenantId) => context.db.of(tenantId).run`
      WITH old AS (
        SELECT api_client_id, operation_id, key FROM idempotency_key
        WHERE tenant_id = ${tenantId} AND created_at < now() - interval '24 hours'
        ORDER BY created_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED
      )
      DELETE FROM idempotency_key AS stored USING old
      WHERE stored.tenant_id = ${tenantId} AND stored.api_client_id = old.api_client_id
        AND stored.operation_id = old.operation_id AND stored.key = old.key`,
  );
}

/**
 * Removes the events of all tenants after 30 days, in the order of the feed and up to the first that is younger:
 * positions have no gap but at their beginning, which a reader who comes back too late finds. Safe to run concurrently.
 * @returns how many
 */
export function purgeEvents(context: PurgeContext): Promise<number> {
  const purgeSome = (tenantId: string): Promise<number> =>
    inTransaction(context, async ({ db }) => {
      // A reset of a sandbox locks the tenant before its events, too.
      await db.of(tenantId).run`SELECT FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
      await db.of(tenantId).run(lockingEndpoints(tenantId));
      return db.of(tenantId).run`
      DELETE FROM event WHERE tenant_id = ${tenantId} AND position < (
        SELECT coalesce(min(position) FILTER (WHERE recorded_at >= now() - interval '30 days'), max(position) + 1)
        FROM (SELECT position, recorded_at FROM event WHERE tenant_id = ${tenantId} ORDER BY position LIMIT ${RETENTION_BATCH})
          AS oldest)`;
    });
  return inTenants(context, purgeSome);
}

/**
 * Purges tenant by tenant, batch by batch: one that cannot be purged is logged and left to the next run.
 * @param purgeSome removes RETENTION_BATCH at most, and returns how many
 */
export async function inTenants(
  context: PurgeContext,
  purgeSome: (tenantId: string) => Promise<number>,
): Promise<number> {
  const tenants = await context.db.prisma.tenant.findMany({ select: { id: true }, orderBy: { id: 'asc' } });
  let purged = 0;
  for (const { id: tenantId } of tenants) {
    try {
      let ofTenant = 0;
      let last: number;
      do {
        context.signal?.throwIfAborted();
        last = await purgeSome(tenantId);
        ofTenant += last;
      } while (last === RETENTION_BATCH);
      purged += ofTenant;
    } catch (error) {
      if (context.signal?.aborted || isUnavailable(error)) throw error;
      context.log.error({ tenantId, sqlstate: sqlState(error), causes: describeCauses(error) }, 'a purge failed');
    }
  }
  return purged;
}
