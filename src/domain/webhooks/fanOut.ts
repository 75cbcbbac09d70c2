import { failureOf } from '../../adapters/database/databaseErrors.js';
import { tenantInsertion } from '../transactions/bulkSql.js';
import {
  aheadOf,
  inTransaction,
  type BackgroundContext,
  type TransactionContext,
} from '../transactions/transaction.js';
import { isWanted, mayReceive } from './visible.js';

/** Maximum of events of one tenant in one transaction. */
const BATCH = 500;

/**
 * Makes a delivery for each new event and each endpoint that wants it. It follows the feed with a cursor, so
 * that subscribers do not slow down changes. Safe to run concurrently. @returns whether a tenant may have more events
 */
export async function makeDeliveries(context: BackgroundContext): Promise<boolean> {
  const tenants = await context.db.everyTenant.rows<{ tenantId: string; aheadMs: bigint }>`
    SELECT cursor.tenant_id AS "tenantId", tenant.clock_offset_ms AS "aheadMs"
    FROM webhook_cursor AS cursor JOIN event_counter AS counter ON counter.tenant_id = cursor.tenant_id
    JOIN tenant ON tenant.id = cursor.tenant_id
    WHERE counter.position > cursor.position
      AND EXISTS (SELECT FROM webhook_endpoint AS endpoint
        WHERE endpoint.tenant_id = cursor.tenant_id AND status = 'active')`;
  let hasMore = false;
  for (const { tenantId, aheadMs } of tenants) {
    try {
      const local = { ...context, now: aheadOf(context.now, Number(aheadMs)) };
      if (await inTransaction(local, (transaction) => deliverSome(transaction, tenantId))) hasMore = true;
    } catch (error) {
      // Continue with the next tenant: a lock or a timeout of one tenant must not delay the others.
      context.log.error({ tenantId, ...failureOf(error) }, 'a step of the webhook deliveries failed; it is repeated');
    }
  }
  return hasMore;
}

/** Makes deliveries for the next events of a tenant. @returns whether more events wait */
async function deliverSome({ db, now, newId }: TransactionContext, tenantId: string): Promise<boolean> {
  const [cursor] = await db.of(tenantId).rows<{ position: bigint }>`
    SELECT greatest(position, (SELECT min(from_position) FROM webhook_endpoint AS endpoint
      WHERE endpoint.tenant_id = ${tenantId} AND status = 'active')) AS position
    FROM webhook_cursor AS cursor WHERE tenant_id = ${tenantId} FOR UPDATE OF cursor SKIP LOCKED`;
  // The cursor is locked: another process works on this tenant, or resets it.
  if (!cursor) return false;
  const { position: after } = cursor;
  // Use one statement: every event up to the counter's position is then visible, unless purged.
  const scanned = await db.of(tenantId).row<{ count: number; position: bigint }>`
    SELECT count(*)::int AS count, coalesce(CASE WHEN count(*) = ${BATCH} THEN max(position) END,
      (SELECT position FROM event_counter WHERE tenant_id = ${tenantId})) AS position
    FROM (SELECT position FROM event WHERE tenant_id = ${tenantId} AND position > ${after} ORDER BY position LIMIT ${BATCH})
      AS news`;
  const matches = scanned.count === 0 ? [] : await matching(db, tenantId, after, scanned.position);
  const at = now();
  const rows = matches.map(({ endpointId, eventId }) => ({
    ...{ id: newId(), endpointId, eventId, nextAttemptAt: at, createdAt: at },
    ...{ status: 'waiting', failures: 0, attempts: [] },
  }));
  const insertion = tenantInsertion(tenantId, 'webhook_delivery', rows);
  if (rows.length > 0) await db.of(tenantId).run`${insertion} ON CONFLICT DO NOTHING`;
  await db.of(tenantId).run`UPDATE webhook_cursor SET position = ${scanned.position} WHERE tenant_id = ${tenantId}`;
  return scanned.count === BATCH;
}

/** The pairs of events and endpoints that subscribe to them. */
function matching(db: TransactionContext['db'], tenantId: string, after: bigint, through: bigint) {
  return db.of(tenantId).rows<{ endpointId: string; eventId: string }>`
    SELECT webhook_endpoint.id AS "endpointId", event.id AS "eventId"
    FROM event
    JOIN webhook_endpoint ON webhook_endpoint.tenant_id = ${tenantId} AND webhook_endpoint.status = 'active'
      AND event.position > from_position
    JOIN api_client ON api_client.tenant_id = ${tenantId} AND api_client.id = webhook_endpoint.api_client_id AND ${mayReceive}
    WHERE event.tenant_id = ${tenantId} AND event.position > ${after} AND event.position <= ${through} AND ${isWanted(tenantId)}
    ORDER BY event.position`;
}
