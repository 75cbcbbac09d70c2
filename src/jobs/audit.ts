import { purgeAudit } from '../domain/audit/retention.js';
import { latestSeal, sealAudit } from '../domain/audit/seal.js';
import type { Job } from './job.js';

/** Each minute: what is not sealed yet could be touched without a trace. */
export const sealing: Job = {
  name: 'seal-audit',
  cron: '* * * * *',
  async run(context) {
    if ((await sealAudit(context)) === 0) return;
    const seal = await latestSeal(context);
    // The log is elsewhere: with it the end of the chain cannot be cut off unnoticed.
    context.log.info(
      { seal: Number(seal?.number), hash: Buffer.from(seal?.hash ?? []).toString('hex') },
      'audit sealed',
    );
  },
};

/** Once a day, when least is going on in the clinics' time zones. */
export const auditRetention: Job = {
  name: 'purge-audit',
  cron: '53 9 * * *',
  async run(context) {
    const count = await purgeAudit(context, context.config.auditRetentionDays);
    if (count > 0) context.log.info({ count, job: 'purge-audit' }, 'job found work');
  },
};
