import { Prisma } from '../../../generated/prisma/client.js';
import { recordElapsedHolds } from '../orders/command.js';
import { forEachTenantClock } from './tenantClocks.js';

const isDue = (now: Prisma.Sql): Prisma.Sql => Prisma.sql`expires_at <= ${now}`;

/** Records the holds of lines whose approval has expired. */
export const holdExpiredLines = forEachTenantClock({
  table: 'order_line',
  isDue,
  locked: 'order',
  which: (now, tenantId) => Prisma.sql`
    id IN (SELECT order_id FROM order_line WHERE tenant_id = ${tenantId} AND ${isDue(now)})`,
  order: Prisma.sql`id`,
  workOff: recordElapsedHolds,
});
