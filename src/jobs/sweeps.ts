import { expireDueEncounters, lapseDueClaims } from '../domain/sweeps/encounterDeadlines.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../domain/sweeps/approvalNotices.js';
import { purgeEvents, purgeIdempotencyKeys } from '../domain/sweeps/purges.js';
import type { Job, JobContext } from './job.js';

/** Periodic work. Requests do not depend on it; it emits events and enforces retention. */
export const sweeps: readonly Job[] = [
  sweep('lapse-due-claims', '* * * * *', lapseDueClaims),
  sweep('expire-due-encounters', '*/5 * * * *', expireDueEncounters),
  sweep('announce-expired-approvals', '*/5 * * * *', announceExpiredApprovals),
  sweep('announce-expiring-approvals', '11 * * * *', announceExpiringApprovals),
  sweep('purge-idempotency-keys', '23 * * * *', purgeIdempotencyKeys),
  // Like everything that can wait, when least is going on in the clinics' time zones.
  sweep('purge-events', '41 9 * * *', purgeEvents),
];

function sweep(name: string, cron: string, work: (context: JobContext) => Promise<number>): Job {
  const run = async (context: JobContext): Promise<number> => {
    const log = context.log.child({ job: name });
    const count = await work({ ...context, log });
    if (count > 0) log.info({ count }, 'job found work');
    return count;
  };
  return { name, cron, run };
}
