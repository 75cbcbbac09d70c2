import type { DomainContext } from '../../context.js';
import { inTransaction } from '../transactions/transaction.js';
import { addCheckpoint, latestRemoval, latestCheckpoint } from '../audit/checkpoints.js';

/** Maximum of rows deleted by one statement, few enough for its timeout. */
const BATCH = 10_000;
const DAY_MS = 86_400_000;

/**
 * Deletes audit rows older than `days`. The chain of checkpoints records the removal first, so that the
 * remaining rows can still be verified. Safe to run concurrently, and again after a failure.
 * @param context of a role that may delete from the audit
 */
export async function purgeAudit(context: DomainContext, days: number): Promise<number> {
  const { db, now } = context;
  const before = new Date(now().getTime() - days * DAY_MS);
  const where = { sealedAt: { lt: before } };
  const last = await db.prisma.auditSeal.findFirst({ where, orderBy: { number: 'desc' } });
  const removed = await latestRemoval(db);
  const head = await latestCheckpoint(context);
  if (last && head && last.number > (removed ?? 0n)) {
    // If another checkpoint was added meanwhile, leave the removal to the next run.
    const removal = { through: head.through, removes: last.number, digests: new Uint8Array() };
    if (!(await addCheckpoint(context, head, removal))) return 0;
  }
  let total = 0;
  for (;;) {
    const count = await removeBatch(context);
    total += count;
    if (count < BATCH) return total;
  }
}

/** Deletes a batch of the audit rows whose removal the chain records. The last batch also deletes earlier checkpoints. */
function removeBatch(context: DomainContext): Promise<number> {
  return inTransaction(context, async ({ db }) => {
    await db.everyTenant.run`SELECT set_config('audit.retention', 'on', true)`;
    const anchor = (await latestRemoval(db)) ?? 0n;
    const removed = await db.everyTenant.run`
      DELETE FROM audit_event WHERE position IN (
        SELECT position FROM audit_event
        WHERE position <= (SELECT through FROM audit_seal WHERE number = ${anchor}) ORDER BY position LIMIT ${BATCH})`;
    if (removed < BATCH) await db.everyTenant.run`DELETE FROM audit_seal WHERE number < ${anchor}`;
    return removed;
  });
}
