import { Prisma } from '../../../generated/prisma/client.js';
import { inTenants, RETENTION_BATCH, type PurgeContext } from '../events/retention.js';
import { identifier } from '../transactions/bulkSql.js';

/** Tables with the parts of an order and of an encounter: what refers to another goes first. */
const ofOrders = ['refund', 'fulfilment', 'payment', 'order_line'];
const informed = ['encounter_information', 'encounter_addendum', 'encounter_document', 'encounter_treatment'];
const ofEncounters = ['order', 'gfe_item', ...informed];

/**
 * Removes ended encounters whose last change is longer ago than the operator keeps them, with their items, orders and
 * payments. Kept is what something still depends on: an order to be paid, an approval that is in force or that
 * another encounter reuses. Safe to run concurrently.
 * @returns how many
 */
export function purgeEncounters(context: PurgeContext, days: number): Promise<number> {
  const purgeSome = (tenantId: string): Promise<number> =>
    context.db.$transaction(async (transaction) => {
      const old = await transaction.$queryRaw<{ id: string }[]>`
        SELECT id FROM encounter
        WHERE tenant_id = ${tenantId} AND created_at < now() - make_interval(days => ${days}::int)
          AND updated_at < now() - make_interval(days => ${days}::int)
          AND phase <> 'open'
          AND NOT EXISTS (SELECT FROM gfe_item WHERE gfe_item.tenant_id = ${tenantId} AND encounter_id = encounter.id
            AND gfe_item.status = 'approved' AND (valid_until IS NULL OR valid_until > now()))
          AND NOT EXISTS (SELECT FROM gfe_item WHERE gfe_item.tenant_id = ${tenantId}
            AND reused_from_encounter_id = encounter.id)
          AND NOT EXISTS (SELECT FROM "order" WHERE "order".tenant_id = ${tenantId} AND encounter_id = encounter.id
            AND order_status = 'pending')
        ORDER BY created_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED`;
      const ids = old.map(({ id }) => id);
      const orders = Prisma.sql`
        SELECT id FROM "order" WHERE tenant_id = ${tenantId} AND encounter_id = ANY (${ids}::uuid[])`;
      for (const part of ofOrders) {
        await transaction.$executeRaw`
          DELETE FROM ${identifier(part)} WHERE tenant_id = ${tenantId} AND order_id IN (${orders})`;
      }
      for (const part of ofEncounters) {
        await transaction.$executeRaw`
          DELETE FROM ${identifier(part)} WHERE tenant_id = ${tenantId} AND encounter_id = ANY (${ids}::uuid[])`;
      }
      await transaction.$executeRaw`
        DELETE FROM encounter WHERE tenant_id = ${tenantId} AND id = ANY (${ids}::uuid[])`;
      return old.length;
    });
  return inTenants(context, purgeSome);
}
