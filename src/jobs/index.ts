import type { ScheduledJob } from '../adapters/jobs/jobWorker.js';
import type { DomainContext, Services } from '../context.js';
import { addCheckpoints } from '../domain/audit/checkpoints.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../domain/sweeps/approvalNotices.js';
import { expireDueEncounters, lapseDueClaims } from '../domain/sweeps/encounterDeadlines.js';
import { holdExpiredLines } from '../domain/sweeps/orderHolds.js';
import { removeOrphanedObjects } from '../domain/sweeps/orphanedObjects.js';
import { purgeEncounters } from '../domain/sweeps/purgeEncounters.js';
import { purgeDocuments, purgeEvents, purgeExchanges, purgeIdempotencyKeys } from '../domain/sweeps/purges.js';

/** The context of a job, which works for all tenants and has no caller. */
interface JobContext extends DomainContext, Pick<Services, 'objects'> {
  readonly config: Pick<Services['config'], 'retention'>;
  /** Log only numbers here: keys, names and messages of libraries may contain health data. */
  readonly log: Services['log'];
  /** Aborts when the process stops; a long job checks it between its steps. */
  readonly signal: AbortSignal;
}

/**
 * Scheduled work. It must be idempotent and safe to run twice at the same time: the engine retries it after an error or
 * an interruption, and a process that seemed dead may still be running it.
 */
interface Job extends Pick<ScheduledJob, 'name' | 'cron'> {
  readonly run: (context: JobContext) => Promise<unknown>;
}

/** Periodic work that emits events and enforces retention. Requests do not depend on it. */
export const sweeps: readonly Job[] = [
  sweep('lapse-due-claims', '* * * * *', lapseDueClaims),
  sweep('expire-due-encounters', '*/5 * * * *', expireDueEncounters),
  sweep('announce-expired-approvals', '*/5 * * * *', announceExpiredApprovals),
  sweep('hold-expired-lines', '*/5 * * * *', holdExpiredLines),
  sweep('announce-expiring-approvals', '11 * * * *', announceExpiringApprovals),
  sweep('purge-exchanges', '*/5 * * * *', purgeExchanges),
  sweep('purge-idempotency-keys', '23 * * * *', purgeIdempotencyKeys),
  // This and the next two jobs can wait for the hours when the clinics' time zones are least busy.
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

/** Removes stored objects of interrupted uploads, for which it must list the whole store. */
async function removeOrphans(context: JobContext): Promise<void> {
  const removed = await removeOrphanedObjects(context, { signal: context.signal });
  if (removed.objects + removed.unfinished > 0) context.log.info(removed, 'removed objects of interrupted uploads');
}

/** Deletes data past its retention period: encounters first, because most documents belong to them. */
export async function applyRetention(context: JobContext): Promise<void> {
  const { encounterDays, documentDays } = context.config.retention;
  const encounters = encounterDays === null ? 0 : await purgeEncounters(context, encounterDays);
  const documents = documentDays === null ? 0 : await purgeDocuments(context, documentDays);
  if (encounters + documents > 0) context.log.info({ encounters, documents }, 'removed data past its retention period');
}

/** Every job of the service. */
export const jobs: readonly Job[] = [
  ...sweeps,
  { name: 'remove-orphaned-objects', cron: '17 9 * * *', run: removeOrphans },
  { name: 'apply-retention', cron: '5 10 * * *', run: applyRetention },
  // Every minute, because rows without a checkpoint could be changed undetected.
  { name: 'seal-audit', cron: '* * * * *', run: addCheckpoints },
];

/** The jobs for the engine, each bound to its context. */
export function jobsWith(services: Omit<JobContext, 'signal'>): ScheduledJob[] {
  const { db, now, newId, randomBytes, objects, config, log } = services;
  const shared = { db, now, newId, randomBytes, objects, config, log };
  return jobs.map(({ name, cron, run }) => ({ name, cron, run: (signal) => run({ ...shared, signal }) }));
}
