import { removeOrphanedObjects } from '../domain/sweeps/orphanedObjects.js';
import type { Job } from './job.js';

/** Once a day, when least is going on in the clinics' time zones: it lists the whole store. */
export const orphanedObjects: Job = {
  name: 'remove-orphaned-objects',
  cron: '17 9 * * *',
  async run(context) {
    const removed = await removeOrphanedObjects(context, { signal: context.signal });
    if (removed.objects + removed.unfinished > 0) context.log.info(removed, 'removed what broken uploads left');
  },
};
