import { Prisma } from '../../../generated/prisma/client.js';
import { inTenants, RETENTION_BATCH } from './purges.js';
import { identifier } from '../transactions/bulkSql.js';
import { inTransaction, type BackgroundContext } from '../transactions/transaction.js';

/** Tables with the parts of an order, in the order of deletion. */
const ORDER_PARTS = ['refund', 'payment', 'order_line'];
const ENCOUNTER_PARTS = [
  'order',
  'gfe_item',
  'encounter_information',
  'encounter_addendum',
  'encounter_document',
  'encounter_treatment',
];

/**
 * Deletes old encounters that have ended, unless an approval is in force, or an order of theirs is unpaid, on its
 * way or has changed since.
 */
export function purgeEncounters(context: BackgroundContext, days: number): Promise<number> {
  const cutoff = Prisma.sql`now() - make_interval(days => ${days}::int)`;
  const purgeSome = (tenantId: string): Promise<number> =>
    inTransaction(context, async ({ db }) => {
      const tenant = db.of(tenantId);
      const old = await tenant.rows<{ id: string }>`
        SELECT id FROM encounter
        WHERE tenant_id = ${tenantId} AND created_at < ${cutoff}
          AND updated_at < ${cutoff}
          AND phase <> 'open'
          AND NOT EXISTS (SELECT FROM gfe_item AS item WHERE item.tenant_id = ${tenantId} AND item.encounter_id = encounter.id
            AND item.status = 'approved'
            AND coalesce(item.valid_until, 'infinity') > now())
          AND NOT EXISTS (SELECT FROM "order" WHERE "order".tenant_id = ${tenantId} AND encounter_id = encounter.id
            AND (order_status = 'pending' OR updated_at >= ${cutoff}))
          AND NOT EXISTS (SELECT FROM "order" JOIN order_line AS line
              ON line.tenant_id = "order".tenant_id AND line.order_id = "order".id
            WHERE "order".tenant_id = ${tenantId} AND encounter_id = encounter.id
              AND (line.status IN ('accepted', 'shipped') OR line.updated_at >= ${cutoff}))
        ORDER BY created_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED`;
      const ids = old.map(({ id }) => id);
      const ofEncounters = Prisma.sql`encounter_id = ANY(${ids}::uuid[])`;
      // Lock orders before their parts, as every change of an order does; the reverse order could deadlock.
      await tenant.run`SELECT FROM "order" WHERE tenant_id = ${tenantId} AND ${ofEncounters} ORDER BY id FOR UPDATE`;
      for (const table of ORDER_PARTS) {
        await tenant.run`DELETE FROM ${identifier(table)} WHERE tenant_id = ${tenantId} AND order_id IN (
          SELECT id FROM "order" WHERE tenant_id = ${tenantId} AND ${ofEncounters})`;
      }
      for (const table of ENCOUNTER_PARTS) {
        await tenant.run`DELETE FROM ${identifier(table)} WHERE tenant_id = ${tenantId} AND ${ofEncounters}`;
      }
      await tenant.run`DELETE FROM encounter WHERE tenant_id = ${tenantId} AND id = ANY(${ids}::uuid[])`;
      return old.length;
    });
  return inTenants(context, purgeSome);
}
