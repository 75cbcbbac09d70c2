import { Prisma } from '../../../generated/prisma/client.js';
import { sqlState } from '../../adapters/database/databaseErrors.js';
import { describeCauses } from '../../failures.js';
import { identifier } from '../transactions/bulkSql.js';
import { flush } from '../transactions/changes.js';
import {
  aheadOf,
  inTransaction,
  inTurns,
  type BackgroundContext,
  type TransactionContext,
} from '../transactions/transaction.js';

export interface DueRow {
  readonly id: string;
}

const DAY_MS = 24 * 3_600_000;

interface Sweep<Row extends DueRow> {
  /** A table whose due rows show which tenants have work; an index by tenant and time must find them. */
  readonly table: 'encounter' | 'gfe_item' | 'order_line';
  /**
   * SQL condition: whether a row of the table may be due at a time. It must be one upper bound of a time: with a second
   * range, PostgreSQL would read the rows of all tenants.
   */
  isDue(now: Prisma.Sql): Prisma.Sql;
  /** Reads and locks due rows of a tenant with SKIP LOCKED. @param isReady SQL condition: no row that waits for a retry */
  find(context: TransactionContext, tenantId: string, isReady: Prisma.Sql, limit: number): Promise<Row[]>;
  workOff(context: TransactionContext, tenantId: string, row: Row): Promise<void>;
}

/**
 * Runs a sweep. @param tenantId only the first batches of this tenant, whose caller waits; undefined = all tenants
 * @returns the number of processed rows. @throws the error of a row, if limited to one tenant
 */
type TenantSweep = (context: BackgroundContext, tenantId?: string) => Promise<number>;

/** A tenant with due rows, and the milliseconds that its clock is ahead of real time. */
interface DueTenant {
  readonly tenantId: string;
  readonly aheadMs: bigint;
}

/** Rows in one batch. Each has a savepoint; PostgreSQL tracks 64 in a transaction without slowing down others. */
const BATCH = 50;
/** Minutes before the next attempts of a failing row; the last one repeats. */
const RETRY_MINUTES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** Maximum of batches while a caller waits; they take seconds. */
const BATCHES_FOR_CALLER = 10;

/**
 * Creates a sweep that processes rows when they are due by their tenant's clock: tenants take turns, each with a batch in a
 * transaction. In a sweep of all tenants, a failing row does not stop the others: it is logged, and retried after a
 * minute, later after up to four hours. Safe to run concurrently with itself and with requests, because it skips locked rows.
 */
export function forEachTenantClock<Row extends DueRow>(sweep: Sweep<Row>): TenantSweep {
  return async (context, only) => {
    let done = 0;
    const batch = ({ tenantId, aheadMs }: DueTenant): Promise<boolean> =>
      inTransaction(context, async (transaction) => {
        const local = { ...transaction, now: aheadOf(transaction.now, Number(aheadMs)) };
        const rows = await sweep.find(local, tenantId, readyIn(context, tenantId), BATCH);
        for (const row of rows) {
          if (only !== undefined) {
            await sweep.workOff(local, tenantId, row);
            await flush(local);
          } else if (!(await succeeds(context, local, tenantId, row, sweep))) continue;
          done += 1;
        }
        return rows.length === BATCH;
      });
    if (only === undefined) {
      await forgetFailures(context);
      await inTurns(context, () => dueTenants(context, sweep, Prisma.sql`true`), batch);
    } else {
      const [due] = await dueTenants(context, sweep, Prisma.sql`tenant.id = ${only}`);
      for (let left = BATCHES_FOR_CALLER; due && left > 0 && (await batch(due));) left -= 1;
    }
    return done;
  };
}

/** The tenants with due rows; every tenant that ever had an event has a counter. @param which an SQL condition on `tenant` */
function dueTenants(
  { db, now }: BackgroundContext,
  { table, isDue }: Pick<Sweep<DueRow>, 'table' | 'isDue'>,
  which: Prisma.Sql,
): Promise<DueTenant[]> {
  const local = Prisma.sql`${now()}::timestamptz + clock_offset_ms * interval '1 ms'`;
  return db.everyTenant.rows<DueTenant>`
    SELECT tenant.id AS "tenantId", clock_offset_ms AS "aheadMs"
    FROM event_counter AS counter JOIN tenant ON tenant.id = counter.tenant_id
    WHERE ${which} AND EXISTS (SELECT FROM ${identifier(table)} AS due
      WHERE due.tenant_id = counter.tenant_id AND ${isDue(local)})`;
}

/** An SQL condition on the `id` of a row: it does not wait for a retry. */
const readyIn = ({ now }: BackgroundContext, tenantId: string): Prisma.Sql => Prisma.sql`
  id NOT IN (SELECT row_id FROM sweep_failure WHERE tenant_id = ${tenantId} AND retry_at > ${now()})`;

/** Forgets failures of rows that have not failed for a day: those rows have been processed, or are no longer due. */
async function forgetFailures({ db, now }: BackgroundContext): Promise<void> {
  const before = new Date(now().getTime() - DAY_MS);
  const tenants = await db.everyTenant.rows<{ tenantId: string }>`
    SELECT DISTINCT tenant_id AS "tenantId" FROM sweep_failure
    WHERE retry_at < ${before}`;
  for (const { tenantId } of tenants) {
    await db.of(tenantId).run`DELETE FROM sweep_failure WHERE tenant_id = ${tenantId} AND retry_at < ${before}`;
  }
}

/** Whether a row was processed; if not, records its failure. @throws if recording fails: connection lost, or timeout */
async function succeeds<Row extends DueRow>(
  { log, now }: BackgroundContext,
  local: TransactionContext,
  tenantId: string,
  row: Row,
  { workOff }: Sweep<Row>,
): Promise<boolean> {
  const { id } = row;
  try {
    const own = { ...local, events: [], changes: [] };
    await local.db.savepoint(async () => {
      await workOff(own, tenantId, row);
      await flush(own);
    });
    local.events.push(...own.events);
    return true;
  } catch (error) {
    const [first, ...later] = RETRY_MINUTES.map((minutes) => new Date(now().getTime() + minutes * 60_000));
    const [failure] = await local.db.of(tenantId).rows<object>`
      INSERT INTO sweep_failure (tenant_id, row_id, failures, retry_at) VALUES (${tenantId}, ${id}::uuid, 1, ${first})
      ON CONFLICT (tenant_id, row_id) DO UPDATE SET failures = sweep_failure.failures + 1,
        retry_at = (${later}::timestamptz[])[least(sweep_failure.failures, ${later.length}::int)]
      RETURNING failures, retry_at AS "retryAt"`;
    log.error(
      { tenantId, ...failure, sqlstate: sqlState(error), causes: describeCauses(error) },
      'a job could not process a row; it retries later',
    );
    return false;
  }
}
