import { Prisma } from '../../../generated/prisma/client.js';
import { applyDeadline } from '../encounters/command.js';
import { forEachTenantClock } from './tenantClocks.js';

// Each sweep repeats the condition on the status of its partial index: only then does PostgreSQL use that index.

/** Returns encounters with a lapsed claim to the queue, and expires those whose deadline has passed, too. */
export const lapseDueClaims = sweepOf(Prisma.sql`status = 'in_review'`, Prisma.sql`lease_expires_at`);

/** Expires encounters whose review or information did not come in time. */
export const expireDueEncounters = sweepOf(
  Prisma.sql`status NOT IN ('in_review', 'completed', 'denied', 'cancelled', 'expired')`,
  Prisma.sql`expires_at`,
);

/** Creates a sweep that applies the deadlines of encounters, the longest due first. */
function sweepOf(status: Prisma.Sql, deadline: Prisma.Sql) {
  return forEachTenantClock({
    table: 'encounter',
    isDue: (now) => Prisma.sql`${status} AND ${deadline} <= ${now}`,
    order: deadline,
    workOff: applyDeadline,
  });
}
