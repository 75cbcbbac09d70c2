import type { QueryContext } from '../transactions/transaction.js';
import { NO_TENANT } from '../transactions/unitOfWork.js';

/** The seconds since the operator's commands last created and verified a backup, according to the audit. */
export async function backupAges({ db }: Pick<QueryContext, 'db'>) {
  return db.of(NO_TENANT).rows<{ step: 'created' | 'verified'; age: number }>`
    SELECT step, age FROM (VALUES ('created', 'backup create'), ('verified', 'backup verify')) AS steps (step, command),
      LATERAL (SELECT extract(epoch FROM now() - at)::float AS age FROM audit_event
        WHERE tenant_id = ${NO_TENANT} AND operation_id = command AND outcome = 'success' ORDER BY position DESC LIMIT 1) AS last`;
}

/** Whether a live tenant has existed for this many seconds. */
export async function hasOldLiveTenant({ db }: Pick<QueryContext, 'db'>, seconds: number): Promise<boolean> {
  const found = await db.everyTenant.rows`
    SELECT FROM tenant WHERE mode = 'live' AND created_at < now() - make_interval(secs => ${seconds}) LIMIT 1`;
  return found.length > 0;
}
