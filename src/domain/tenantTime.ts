import { Prisma } from '../../generated/prisma/client.js';
import type { DomainContext } from '../context.js';
import { inTenantTime, inTransaction, type TransactionContext } from './transactionContext.js';

/** How long a batch may take: nobody waits for it, and a busy database needs its time. */
const BATCH_MS = 60_000;

/**
 * Works off what is due in all tenants, or in one, by each tenant's own time: batch by batch, each in a transaction of
 * its own, until one finds nothing. Tenants whose clocks agree are served together: there are only as many clocks as
 * sandboxes that moved theirs (domain rule "Sandbox").
 * @param context with the time of the world
 * @param tenantId only this tenant's; undefined: all
 * @param batch does a part of the work for the tenants that the query names, and tells how much there was
 * @returns how much there was in all
 */
export async function inTenantTimes(
  context: DomainContext,
  tenantId: string | undefined,
  batch: (context: TransactionContext, tenants: Prisma.Sql) => Promise<number>,
): Promise<number> {
  const where = tenantId === undefined ? {} : { id: tenantId };
  const clocks = await context.db.tenant.groupBy({ by: ['clockOffsetMs'], where });
  let done = 0;
  for (const { clockOffsetMs } of clocks) {
    const tenants = Prisma.sql`SELECT id FROM tenant WHERE clock_offset_ms = ${clockOffsetMs}
      AND ${tenantId === undefined ? Prisma.sql`true` : Prisma.sql`id = ${tenantId}`}`;
    const local = inTenantTime(context, Number(clockOffsetMs));
    let count: number;
    do {
      count = await inTransaction(local, (transaction) => batch(transaction, tenants), BATCH_MS);
      done += count;
    } while (count > 0);
  }
  return done;
}
