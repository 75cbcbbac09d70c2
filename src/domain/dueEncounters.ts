import { Prisma } from '../../generated/prisma/client.js';
import type { DomainContext } from '../context.js';
import { applyChange, expiry, lapse, type Change, type EncounterRow } from './encounterTransitions.js';
import { inTenantTimes } from './tenantTime.js';
import type { TransactionContext } from './transactionContext.js';

const BATCH = 100;

/**
 * Puts encounters back into the queue whose provider's time is over (domain rule "Encounter state machine"). Safe to
 * run twice and at the same time as itself and as requests: what somebody else is changing is left to them.
 * @param context with the time of the world; each tenant's own time is what counts
 * @param tenantId only this tenant's; default: all
 * @returns how many there were
 */
export function lapseDueClaims(context: DomainContext, tenantId?: string): Promise<number> {
  return inTenantTimes(context, tenantId, (local, tenants) => sweep(local, claims, tenants));
}

/** The same for encounters that waited for a review until their end: they become `expired`. */
export function expireDueEncounters(context: DomainContext, tenantId?: string): Promise<number> {
  return inTenantTimes(context, tenantId, (local, tenants) => sweep(local, waits, tenants));
}

/** What ends when its time has come: the encounters in question, the column of that time, and the change. */
interface Sweep {
  readonly status: Prisma.Sql;
  readonly deadline: Prisma.Sql;
  readonly change: Change<EncounterRow>;
}

// Written out, so that each has its partial index.
const claims: Sweep = {
  status: Prisma.sql`status = 'in_review'`,
  deadline: Prisma.sql`lease_expires_at`,
  change: lapse,
};
const waits: Sweep = {
  status: Prisma.sql`status = 'pending_review'`,
  deadline: Prisma.sql`expires_at`,
  change: expiry,
};

/** The longest due first; the rows stay locked, so that every change is made. */
async function sweep(
  context: TransactionContext,
  { status, deadline, change }: Sweep,
  tenants: Prisma.Sql,
): Promise<number> {
  const encounters = await context.db.$queryRaw<EncounterRow[]>`
    SELECT tenant_id AS "tenantId", id, encounter_no AS "encounterNo", gfe_no AS "gfeNo", clinic_id AS "clinicId",
      status, version
    FROM encounter WHERE ${status} AND ${deadline} <= ${context.now()} AND tenant_id IN (${tenants})
    ORDER BY ${deadline} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
  for (const encounter of encounters) await applyChange(context, encounter, change);
  return encounters.length;
}
