import { Prisma } from '../../../generated/prisma/client.js';
import { failureOf } from '../../adapters/database/databaseErrors.js';
import { identifier } from '../transactions/bulkSql.js';
import { flush } from '../transactions/changes.js';
import {
  aheadOf,
  inTransaction,
  inTurns,
  type BackgroundContext,
  type TransactionContext,
} from '../transactions/transaction.js';

interface Sweep {
  /** A table whose due rows show which tenants have work; an index by tenant and time must find them. */
  readonly table: 'encounter' | 'gfe_item' | 'order_line';
  /**
   * SQL condition: whether a row of the table may be due at a time. Its only range must be an upper bound of a time: with a
   * second one, PostgreSQL would read the rows of all tenants.
   */
  isDue(now: Prisma.Sql): Prisma.Sql;
  /** The table whose rows are locked and processed; by default `table`. */
  readonly locked?: Sweep['table'] | 'order';
  /** SQL condition: which rows of the locked table to process; by default the due rows. */
  readonly which?: (now: Prisma.Sql, tenantId: string) => Prisma.Sql;
  /** The column by which locked rows are sorted, so that the longest due ones come first if it is a time. */
  readonly order: Prisma.Sql;
  workOff(context: TransactionContext, tenantId: string, id: string): Promise<void>;
}

/**
 * Runs a sweep. @param tenantId only the first batches of this tenant, whose caller waits; undefined = all tenants
 * @returns the number of processed rows. @throws the error of a row, if limited to one tenant
 */
type TenantSweep = (context: BackgroundContext, tenantId?: string) => Promise<number>;

/** A tenant with due rows, and the milliseconds that its clock is ahead of real time (R-74). */
interface DueTenant {
  readonly tenantId: string;
  readonly aheadMs: bigint;
}

/** Maximum of rows in a batch. Each may have a savepoint, and more than 64 would slow down other transactions. */
const BATCH = 50;
/** Failing rows of a tenant after which its turns end: each costs a log line, and an id in each later query. */
const MAX_FAILED = 1_000;
/** Maximum of batches while a caller waits; they take seconds. */
const BATCHES_FOR_CALLER = 10;

/**
 * Creates a sweep that processes rows when they are due by their tenant's clock: tenants take turns, each with a batch in a
 * transaction. In a sweep of all tenants, a failing row does not stop the others: it is logged, and retried by the next
 * run. Safe to run concurrently with itself and with requests, because it skips locked rows.
 */
export function forEachTenantClock(sweep: Sweep): TenantSweep {
  return async (context, only) => {
    let done = 0;
    const failures = new Map<string, string[]>();
    const batch = ({ tenantId, aheadMs }: DueTenant): Promise<boolean> =>
      inTransaction(context, async (transaction) => {
        const local = { ...transaction, now: aheadOf(transaction.now, Number(aheadMs)) };
        const failed = failures.get(tenantId) ?? [];
        failures.set(tenantId, failed);
        const rows = await lockDue(local, tenantId, sweep, failed);
        for (const { id } of rows) {
          if (only !== undefined) {
            await sweep.workOff(local, tenantId, id);
            await flush(local);
            done += 1;
          } else if (await succeeds(context, local, tenantId, id, sweep)) done += 1;
          else failed.push(id);
        }
        return rows.length === BATCH && failed.length < MAX_FAILED;
      });
    if (only === undefined) {
      await inTurns(context, () => dueTenants(context, sweep, Prisma.sql`true`), batch);
    } else {
      const [due] = await dueTenants(context, sweep, Prisma.sql`tenant.id = ${only}`);
      for (let left = BATCHES_FOR_CALLER; due && left > 0 && (await batch(due));) left -= 1;
    }
    return done;
  };
}

/** The tenants with due rows; all of these have an event counter. @param which an SQL condition on `tenant` */
function dueTenants({ db, now }: BackgroundContext, { table, isDue }: Sweep, which: Prisma.Sql): Promise<DueTenant[]> {
  const local = Prisma.sql`${now()}::timestamptz + clock_offset_ms * interval '1 ms'`;
  return db.everyTenant.rows<DueTenant>`
    SELECT tenant.id AS "tenantId", clock_offset_ms AS "aheadMs"
    FROM event_counter AS counter JOIN tenant ON tenant.id = counter.tenant_id
    WHERE ${which} AND EXISTS (SELECT FROM ${identifier(table)} AS due
      WHERE due.tenant_id = counter.tenant_id AND ${isDue(local)})`;
}

/** Locks due rows of a tenant, except those that have failed in this run. */
function lockDue(
  { db, now }: TransactionContext,
  tenantId: string,
  { table, isDue, locked = table, which = isDue, order }: Sweep,
  failed: readonly string[],
): Promise<{ id: string }[]> {
  return db.of(tenantId).rows`
    SELECT id FROM ${identifier(locked)} WHERE tenant_id = ${tenantId}
      AND ${which(Prisma.sql`${now()}::timestamptz`, tenantId)} AND id <> ALL (${[...failed]}::uuid[])
    ORDER BY ${order} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
}

/** Processes a row in a savepoint. @returns whether that succeeded; a failure is logged */
async function succeeds(
  { log }: BackgroundContext,
  local: TransactionContext,
  tenantId: string,
  id: string,
  { workOff }: Sweep,
): Promise<boolean> {
  try {
    const own = { ...local, events: [], changes: [] };
    await local.db.savepoint(async () => {
      await workOff(own, tenantId, id);
      await flush(own);
    });
    local.events.push(...own.events);
    return true;
  } catch (error) {
    log.error({ tenantId, id, ...failureOf(error) }, 'a job could not process a row; its next run retries');
    return false;
  }
}
