import type { ScheduledJob } from '../adapters/jobs/jobs.js';
import type { DomainContext, Services } from '../context.js';
import { addCheckpoints } from '../domain/audit/checkpoints.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../domain/sweeps/approvalNotices.js';
import { expireDueEncounters, lapseDueClaims } from '../domain/sweeps/encounterDeadlines.js';
import { holdExpiredLines } from '../domain/sweeps/orderHolds.js';
import { removeOrphanedObjects } from '../domain/sweeps/orphanedObjects.js';
import { purgeEvents, purgeExchanges, purgeIdempotencyKeys } from '../domain/sweeps/purges.js';

/** The context of a job, which works for all tenants and has no caller. */
interface JobContext extends DomainContext, Pick<Services, 'objects'> {
  /** Log only numbers here: keys, names and messages of libraries may contain health data. */
  readonly log: Services['log'];
  /** Aborts when the process stops; a long job checks it between its steps. */
  readonly signal: AbortSignal;
}

/**
 * Scheduled work. It must be idempotent and safe to run twice at the same time: it is retried after an error or
 * an interruption, and a process that seemed dead may still be running it.
 */
interface Job extends Pick<ScheduledJob, 'name' | 'interval'> {
  readonly run: (context: JobContext) => Promise<unknown>;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Periodic work that emits events and enforces retention. Requests do not depend on it. */
export const sweeps: readonly Job[] = [
  sweep('lapse-due-claims', MINUTE, lapseDueClaims),
  sweep('expire-due-encounters', 5 * MINUTE, expireDueEncounters),
  sweep('announce-expired-approvals', 5 * MINUTE, announceExpiredApprovals),
  sweep('hold-expired-lines', 5 * MINUTE, holdExpiredLines),
  sweep('announce-expiring-approvals', HOUR, announceExpiringApprovals),
  sweep('purge-exchanges', 5 * MINUTE, purgeExchanges),
  sweep('purge-idempotency-keys', HOUR, purgeIdempotencyKeys),
  sweep('purge-events', DAY, purgeEvents),
];

function sweep(name: string, interval: number, work: (context: JobContext) => Promise<number>): Job {
  const run = async (context: JobContext): Promise<number> => {
    const log = context.log.child({ job: name });
    const count = await work({ ...context, log });
    if (count > 0) log.info({ count }, 'job finished');
    return count;
  };
  return { name, interval, run };
}

/** Removes stored objects without a row, for which it must list the whole store. */
async function removeOrphans(context: JobContext): Promise<void> {
  const removed = await removeOrphanedObjects(context, { signal: context.signal });
  if (removed.objects + removed.unfinished > 0)
    context.log.info(removed, 'removed objects without a row, and unfinished uploads');
}

/** Every job of the service. */
export const jobs: readonly Job[] = [
  ...sweeps,
  { name: 'remove-orphaned-objects', interval: DAY, run: removeOrphans },
  // Every minute, because rows without a checkpoint could be changed undetected.
  { name: 'seal-audit', interval: MINUTE, run: addCheckpoints },
];

/** The jobs, each bound to its context. */
export function jobsWith(services: Omit<JobContext, 'signal'>): ScheduledJob[] {
  const { db, now, newId, randomBytes, objects, log } = services;
  const shared = { db, now, newId, randomBytes, objects, log };
  return jobs.map(({ name, interval, run }) => ({ name, interval, run: (signal) => run({ ...shared, signal }) }));
}
