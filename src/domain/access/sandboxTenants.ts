import type { Context } from '../../context.js';
import { Problem } from '../../problem.js';
import { identifier } from '../transactions/bulkSql.js';
import type { CallerContext } from '../transactions/transaction.js';

/** Maximum of patients, and of encounters, in a sandbox: a reset deletes all of them while its caller waits. */
const MAX_RECORDS = 5_000;

/** Refuses a new patient or encounter in a full sandbox. @throws Problem sandbox_full */
export async function requireRoom({ db, caller }: CallerContext, table: 'client' | 'encounter') {
  if (caller.tenantMode !== 'sandbox') return;
  const [stored] = await db.of(caller.tenantId).rows<{ count: number }>`
    SELECT count(*)::int AS count
    FROM (SELECT FROM ${identifier(table)} WHERE tenant_id = ${caller.tenantId} LIMIT ${MAX_RECORDS}) AS stored`;
  if (stored?.count === MAX_RECORDS) throw new Problem('sandbox_full');
}

/** Keeps sandbox operations out of live tenants, regardless of the token's permissions. @throws Problem sandbox_only */
export function requireSandbox({ caller }: Pick<Context, 'caller'>): void {
  if (caller.tenantMode !== 'sandbox') throw new Problem('sandbox_only');
}
