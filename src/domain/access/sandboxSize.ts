import { Problem } from '../../problem.js';
import { identifier } from '../transactions/bulkSql.js';
import type { CallerContext } from '../transactions/transaction.js';

/** Patients of a sandbox, and encounters: a reset deletes them all while its caller waits. */
const MAX_RECORDS = 5_000;

/** Refuses another patient or encounter in a sandbox that has its number of them. @throws Problem sandbox_full */
export async function requireRoom({ db, caller, fixed }: CallerContext, table: 'client' | 'encounter') {
  if (caller.tenantMode !== 'sandbox' || fixed) return;
  const [stored] = await db.of(caller.tenantId).rows<{ count: number }>`
    SELECT count(*)::int AS count
    FROM (SELECT FROM ${identifier(table)} WHERE tenant_id = ${caller.tenantId} LIMIT ${MAX_RECORDS}) AS stored`;
  if (stored?.count === MAX_RECORDS) throw new Problem('sandbox_full');
}
