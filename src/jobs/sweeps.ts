import { expireDueEncounters, lapseDueClaims } from '../domain/sweeps/encounterDeadlines.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../domain/sweeps/approvalNotices.js';
import { holdExpiredLines } from '../domain/sweeps/orderHolds.js';
import { purgeEvents, purgeIdempotencyKeys } from '../domain/sweeps/purges.js';
import type { Job, JobContext } from './job.js';

/** Periodic work that emits events and enforces retention. Requests do not depend on it. */
export const sweeps: readonly Job[] = [
  sweep('lapse-due-claims', '* * * * *', lapseDueClaims),
  sweep('expire-due-encounters', '*/5 * * * *', expireDueEncounters),
  sweep('announce-expired-approvals', '*/5 * * * *', announceExpiredApprovals),
  sweep('hold-expired-lines', '*/5 * * * *', holdExpiredLines),
  sweep('announce-expiring-approvals', '11 * * * *', announceExpiringApprovals),
  sweep('purge-idempotency-keys', '23 * * * *', purgeIdempotencyKeys),
  // Can wait until the clinics' time zones are least busy.
  sweep('purge-events', '41 9 * * *', purgeEvents),
];

function sweep(name: string, cron: string, work: (context: JobContext) => Promise<number>): Job {
  const run = async (context: JobContext): Promise<number> => {
    const log = context.log.child({ job: name });
    const count = await work({ ...context, log });
    if (count > 0) log.info({ count }, 'job finished');
    return count;
  };
  return { name, cron, run };
}
