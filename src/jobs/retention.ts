import { purgeDocuments } from '../domain/sweeps/purgeDocuments.js';
import { purgeEncounters } from '../domain/sweeps/purgeEncounters.js';
import type { Job } from './job.js';

/** Removes data past its retention period once a day: encounters first, because most documents belong to them. */
export const retention: Job = {
  name: 'apply-retention',
  cron: '5 10 * * *',
  async run(context) {
    const { encounterDays, documentDays } = context.config.retention;
    const encounters = encounterDays === null ? 0 : await purgeEncounters(context, encounterDays);
    const documents = documentDays === null ? 0 : await purgeDocuments(context, documentDays);
    if (encounters + documents > 0)
      context.log.info({ encounters, documents }, 'removed data past its retention period');
  },
};
