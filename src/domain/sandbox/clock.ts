import type { AuditRow, Context, DomainContext } from '../../context.js';
import { fieldProblem } from '../../problem.js';
import { expireDueEncounters, lapseDueClaims } from '../sweeps/encounterDeadlines.js';
import { holdExpiredLines } from '../sweeps/orderHolds.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../sweeps/approvalNotices.js';
import { inTransaction, lockSandbox } from '../transactions/transaction.js';
import { requireSandbox } from '../access/sandboxTenants.js';

const sweeps = [
  lapseDueClaims,
  expireDueEncounters,
  announceExpiringApprovals,
  announceExpiredApprovals,
  holdExpiredLines,
];

export interface SandboxTime {
  readonly now: Date;
  readonly offsetSeconds: number;
}

/** Milliseconds that the clock of a sandbox tenant is ahead of real time. */
export async function clockOffset({ db }: Pick<DomainContext, 'db'>, tenantId: string): Promise<number> {
  const select = { clockOffsetMs: true };
  const tenant = await db.prisma.tenant.findUniqueOrThrow({ where: { id: tenantId }, select });
  return Number(tenant.clockOffsetMs);
}

/** The time of a sandbox. @throws Problem sandbox_only */
export async function readClock(context: Context): Promise<SandboxTime> {
  requireSandbox(context);
  return timeAt(context, await clockOffset(context, context.caller.tenantId));
}

/**
 * Sets the clock of a sandbox to `offsetSeconds` ahead of real time, then processes the first batches of the work that
 * is due by then; jobs do the rest. Commits the audit row `row`.
 * @throws Problem sandbox_only; sandbox_busy; validation_failed if time would go back, even due to a concurrent change
 */
export async function setClock(context: Context, offsetSeconds: number, row: AuditRow): Promise<SandboxTime> {
  requireSandbox(context);
  const { tenantId } = context.caller;
  const clockOffsetMs = offsetSeconds * 1000;
  // Give the sweeps real time, because they add the sandbox's offset themselves.
  const { db, realNow: now, newId, randomBytes, log } = context;
  const world = { db, now, newId, randomBytes, log };
  await inTransaction(world, async (transaction) => {
    await lockSandbox(transaction, tenantId);
    const count = await transaction.db.of(tenantId).run`
      UPDATE tenant SET clock_offset_ms = ${clockOffsetMs} WHERE id = ${tenantId} AND clock_offset_ms <= ${clockOffsetMs}`;
    if (count === 0) {
      throw fieldProblem(
        'validation_failed',
        '#/offsetSeconds',
        'must not be less than the current offset; only a reset moves the clock back',
        'range',
      );
    }
    transaction.audited.push(row);
  });
  for (const sweep of sweeps) await sweep(world, tenantId);
  return timeAt(context, clockOffsetMs);
}

function timeAt({ realNow }: Context, offsetMs: number): SandboxTime {
  return { now: new Date(realNow().getTime() + offsetMs), offsetSeconds: Math.floor(offsetMs / 1000) };
}
