import { Prisma } from '../../../generated/prisma/client.js';
import { applyChange, expiry, lapse, type Change, type EncounterRow } from './transitions.js';
import { forEachTenantClock, type Sweep, type SweepContext } from '../transactions/tenantClocks.js';

/**
 * Puts encounters whose claim has lapsed back into the queue. Safe to
 * run twice and at the same time as itself and as requests: what somebody else is changing is left to them.
 * @param context with the time of the world; each tenant's own time is what counts
 * @param tenantId only this tenant's; default: all
 * @returns how many there were
 */
export function lapseDueClaims(context: SweepContext, tenantId?: string): Promise<number> {
  return forEachTenantClock(context, tenantId, lapses);
}

/** The same for encounters that waited for a review or for information until their end: they become `expired`. */
export function expireDueEncounters(context: SweepContext, tenantId?: string): Promise<number> {
  return forEachTenantClock(context, tenantId, expiries);
}

/** What ends when its time has come: the encounters in question, the column of that time, and the change. */
interface End {
  readonly status: Prisma.Sql;
  readonly deadline: Prisma.Sql;
  readonly change: Change<EncounterRow>;
}

// Written out, so that each has its partial index.
const lapses = sweepOf({
  status: Prisma.sql`status = 'in_review'`,
  deadline: Prisma.sql`lease_expires_at`,
  change: lapse,
});
const expiries = sweepOf({
  status: Prisma.sql`status NOT IN ('in_review', 'completed', 'denied', 'cancelled', 'expired')`,
  deadline: Prisma.sql`expires_at`,
  change: expiry,
});

/** The longest due first; the rows stay locked, so that every change is made. */
function sweepOf({ status, deadline, change }: End): Sweep<EncounterRow> {
  return {
    find: ({ db, now }, isTurnOf, limit) => db.$queryRaw<EncounterRow[]>`
      SELECT tenant_id AS "tenantId", id, encounter_no AS "encounterNo", gfe_no AS "gfeNo", clinic_id AS "clinicId",
        status, version
      FROM encounter WHERE ${status} AND ${deadline} <= ${now()} AND ${isTurnOf('encounter')}
      ORDER BY ${deadline} LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
    async workOff(context, encounter) {
      await applyChange(context, encounter, change);
    },
  };
}
