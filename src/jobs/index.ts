import type { ScheduledJob } from '../adapters/jobs/jobWorker.js';
import { checkpoints } from './audit.js';
import type { Job, JobContext } from './job.js';
import { orphanedObjects } from './orphanedObjects.js';
import { retention } from './retention.js';
import { sweeps } from './sweeps.js';

/** Every job of the service. */
export const jobs: readonly Job[] = [...sweeps, orphanedObjects, checkpoints, retention];

/** The jobs for the engine, each bound to its context. */
export function jobsWith(services: Omit<JobContext, 'signal'>): ScheduledJob[] {
  const { db, now, newId, randomBytes, objects, config, log } = services;
  const shared = { db, now, newId, randomBytes, objects, config, log };
  return jobs.map(({ name, cron, run }) => ({ name, cron, run: (signal) => run({ ...shared, signal }) }));
}
