import { removeOrphanedObjects } from '../domain/sweeps/orphanedObjects.js';
import type { Job } from './job.js';

/** Once a day, when the clinics' time zones are least busy, because it lists the whole store. */
export const orphanedObjects: Job = {
  name: 'remove-orphaned-objects',
  cron: '17 9 * * *',
  async run(context) {
    const removed = await removeOrphanedObjects(context, { signal: context.signal });
    if (removed.objects + removed.unfinished > 0) context.log.info(removed, 'removed objects of interrupted uploads');
  },
};
