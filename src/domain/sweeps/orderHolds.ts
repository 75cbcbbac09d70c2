import { Prisma } from '../../../generated/prisma/client.js';
import { recordElapsedHolds } from '../orders/command.js';
import { forEachTenantClock, type DueRow } from './tenantClocks.js';

const isDue = (now: Prisma.Sql): Prisma.Sql => Prisma.sql`expires_at <= ${now}`;

/** Holds lines whose approval has expired before a pharmacy accepted them (R-190). */
export const holdExpiredLines = forEachTenantClock<DueRow>({
  table: 'order_line',
  isDue,
  find: ({ db, now }, tenantId, isReady, limit) => db.of(tenantId).rows<DueRow>`
    SELECT id FROM "order" WHERE tenant_id = ${tenantId} AND ${isReady}
      AND id IN (SELECT order_id FROM order_line WHERE tenant_id = ${tenantId} AND ${isDue(Prisma.sql`${now()}`)})
    ORDER BY id LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`,
  workOff: (context, tenantId, { id }) => recordElapsedHolds(context, tenantId, id),
});
