import { recordElapsedHolds } from '../orders/command.js';
import { forEachTenantClock, type DueRow } from './tenantClocks.js';

/** Holds lines whose approval has expired before a pharmacy accepted them. */
export const holdExpiredLines = forEachTenantClock<DueRow>({
  find: ({ db, now }, isTurnOf, limit) => db.everyTenant.rows<DueRow>`
    SELECT tenant_id AS "tenantId", id FROM "order"
    WHERE (tenant_id, id) IN (SELECT tenant_id, order_id FROM order_line WHERE expires_at <= ${now()})
      AND ${isTurnOf('"order"')}
    ORDER BY id LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`,
  workOff: (context, { tenantId, id }) => recordElapsedHolds(context, tenantId, id),
});
