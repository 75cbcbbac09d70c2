import type { DomainContext } from '../../context.js';
import { inTransaction } from '../transactions/transaction.js';
import { addCheckpoint, chains, latestCheckpoint, latestRemoval } from '../audit/checkpoints.js';

/** Maximum of audit rows deleted by one statement, few enough for its timeout. */
const BATCH = 10_000;
const DAY_MS = 86_400_000;

/**
 * Deletes audit rows whose checkpoint is older than `days` days, chain by chain. The chain records the removal
 * first, so that the remaining rows can still be verified. Safe to run concurrently, and again after a failure.
 * @param context of a role that may delete from the audit
 */
export async function purgeAudit(context: DomainContext, days: number): Promise<number> {
  const before = new Date(context.now().getTime() - days * DAY_MS);
  let total = 0;
  for (const tenantId of await chains(context.db)) total += await purgeChain(context, tenantId, before);
  return total;
}

async function purgeChain(context: DomainContext, tenantId: string, before: Date): Promise<number> {
  const { db } = context;
  const where = { tenantId, sealedAt: { lt: before } };
  const last = await db.prisma.auditSeal.findFirst({ where, orderBy: { number: 'desc' } });
  if (!last) return 0;
  const removed = await latestRemoval(db, tenantId);
  const head = await latestCheckpoint(context, tenantId);
  if (head && last.number > (removed ?? 0n)) {
    // If another checkpoint was added meanwhile, leave the removal to the next run.
    const removal = { through: head.through, removes: last.number, digests: new Uint8Array() };
    if (!(await addCheckpoint(context, tenantId, head, removal))) return 0;
  }
  let total = 0;
  for (;;) {
    const count = await removeBatch(context, tenantId);
    total += count;
    if (count < BATCH) return total;
  }
}

/** Deletes a batch of the audit rows whose removal the chain records. The last batch also deletes earlier checkpoints. */
function removeBatch(context: DomainContext, tenantId: string): Promise<number> {
  return inTransaction(context, async ({ db }) => {
    // Use SET LOCAL, because a distributed PostgreSQL does not pass on set_config() to its workers.
    await db.everyTenant.run`SET LOCAL audit.retention = 'on'`;
    const anchor = (await latestRemoval(db, tenantId)) ?? 0n;
    const removed = await db.of(tenantId).run`
      DELETE FROM audit_event WHERE tenant_id = ${tenantId} AND position IN (
        SELECT position FROM audit_event
        WHERE tenant_id = ${tenantId}
          AND position <= (SELECT through FROM audit_seal WHERE tenant_id = ${tenantId} AND number = ${anchor})
        ORDER BY position LIMIT ${BATCH})`;
    if (removed < BATCH) {
      await db.of(tenantId).run`DELETE FROM audit_seal WHERE tenant_id = ${tenantId} AND number < ${anchor}`;
    }
    return removed;
  });
}
