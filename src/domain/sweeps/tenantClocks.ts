import { Prisma } from '../../../generated/prisma/client.js';
import { sqlState } from '../../adapters/database/databaseErrors.js';
import { describeCauses } from '../../failures.js';
import { isHere } from '../access/cells.js';
import { flush } from '../transactions/changes.js';
import {
  aheadOf,
  inTransaction,
  type BackgroundContext,
  type TransactionContext,
} from '../transactions/transaction.js';

export interface DueRow {
  readonly tenantId: string;
  readonly id: string;
}

interface Sweep<Row extends DueRow> {
  /**
   * Reads and locks due rows with SKIP LOCKED. `isTurnOf` gives, for a table alias, the condition for rows of the
   * tenants that are processed now and that do not wait for a retry.
   */
  find(context: TransactionContext, isTurnOf: (alias: string) => Prisma.Sql, limit: number): Promise<Row[]>;
  workOff(context: TransactionContext, row: Row): Promise<void>;
}

/**
 * Runs a sweep. @param tenantId only the first batches of this tenant, whose caller waits; undefined = all tenants
 * @returns the number of processed rows. @throws the error of a row, if limited to one tenant
 */
type TenantSweep = (context: BackgroundContext, tenantId?: string) => Promise<number>;

/** Rows in one batch. Each has a savepoint; PostgreSQL tracks 64 in a transaction without slowing down others. */
const BATCH = 50;
/** Maximum of batches while a caller waits; they take seconds. */
const BATCHES_FOR_CALLER = 10;

/**
 * Creates a sweep that processes rows when they are due by their tenant's clock, in batches of one transaction each.
 * Tenants with the same clock are processed together, because only sandboxes move theirs (R-74). In a sweep of all
 * tenants, a failing row does not stop the others: it is logged, and retried after a minute, later after up to four
 * hours. Safe to run concurrently with itself and with requests, because it skips locked rows.
 */
export function forEachTenantClock<Row extends DueRow>(sweep: Sweep<Row>): TenantSweep {
  return async (context, tenantId) => {
    // Forget failures of rows that have not failed for a day: those rows have been processed, or are no longer due.
    await context.db.everyTenant.run`
      DELETE FROM sweep_failure WHERE retry_at < ${context.now()}::timestamptz - interval '1 day'
        AND ${isHere(Prisma.sql`sweep_failure.tenant_id`)}`;
    const where = tenantId === undefined ? {} : { id: tenantId };
    const clocks = await context.db.prisma.tenant.groupBy({ by: ['clockOffsetMs'], where });
    let done = 0;
    for (const { clockOffsetMs } of clocks) {
      const isTurnOf = turns(context, clockOffsetMs, tenantId);
      const batch = async (transaction: TransactionContext): Promise<number> => {
        const local = { ...transaction, now: aheadOf(transaction.now, Number(clockOffsetMs)) };
        const rows = await sweep.find(local, isTurnOf, BATCH);
        for (const row of rows) {
          if (tenantId !== undefined) {
            await sweep.workOff(local, row);
            await flush(local);
          } else if (!(await succeeds(context, local, row, sweep))) continue;
          done += 1;
        }
        return rows.length;
      };
      let batches = tenantId === undefined ? Infinity : BATCHES_FOR_CALLER;
      while (batches-- > 0 && (await inTransaction(context, batch)) > 0);
    }
    return done;
  };
}

function turns({ now }: BackgroundContext, clockOffsetMs: bigint, tenantId: string | undefined) {
  return (alias: string): Prisma.Sql => {
    const row = Prisma.raw(alias);
    const ofClock = Prisma.sql`${row}.tenant_id IN (
      SELECT id FROM tenant WHERE clock_offset_ms = ${clockOffsetMs} AND ${isHere(Prisma.sql`tenant.id`)})`;
    if (tenantId !== undefined) return Prisma.sql`${row}.tenant_id = ${tenantId} AND ${ofClock}`;
    return Prisma.sql`${ofClock} AND NOT EXISTS (SELECT FROM sweep_failure AS failed
      WHERE failed.tenant_id = ${row}.tenant_id AND failed.row_id = ${row}.id AND failed.retry_at > ${now()})`;
  };
}

/** Whether a row was processed; if not, records its failure. @throws if recording fails: connection lost, or timeout */
async function succeeds<Row extends DueRow>(
  { log, now }: BackgroundContext,
  local: TransactionContext,
  row: Row,
  { workOff }: Sweep<Row>,
): Promise<boolean> {
  const { tenantId, id } = row;
  try {
    const own = { ...local, events: [], changes: [] };
    await local.db.savepoint(async () => {
      await workOff(own, row);
      await flush(own);
    });
    local.events.push(...own.events);
    return true;
  } catch (error) {
    const [failure] = await local.db.of(tenantId).rows<object>`
      INSERT INTO sweep_failure (tenant_id, row_id, failures, retry_at)
      VALUES (${tenantId}, ${id}::uuid, 1, ${now()}::timestamptz + interval '1 minute')
      ON CONFLICT (tenant_id, row_id) DO UPDATE SET failures = sweep_failure.failures + 1,
        retry_at = ${now()}::timestamptz + interval '1 minute' * 2 ^ least(sweep_failure.failures, 8)
      RETURNING failures, retry_at AS "retryAt"`;
    log.error(
      { tenantId, ...failure, sqlstate: sqlState(error), causes: describeCauses(error) },
      'a job could not process a row; it retries later',
    );
    return false;
  }
}
