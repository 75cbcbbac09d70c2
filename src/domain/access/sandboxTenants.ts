import type { Context } from '../../context.js';
import { Problem } from '../../problem.js';
import { identifier } from '../transactions/bulkSql.js';
import type { CallerContext } from '../transactions/transaction.js';

/** Patients of a sandbox, and encounters: a reset deletes them all while its caller waits. */
const MAX_RECORDS = 5_000;

/** Refuses another patient or encounter in a sandbox that has its number of them. @throws Problem sandbox_full */
export async function requireRoom({ db, caller }: CallerContext, table: 'client' | 'encounter') {
  if (caller.tenantMode !== 'sandbox') return;
  const [stored] = await db.of(caller.tenantId).rows<{ count: number }>`
    SELECT count(*)::int AS count
    FROM (SELECT FROM ${identifier(table)} WHERE tenant_id = ${caller.tenantId} LIMIT ${MAX_RECORDS}) AS stored`;
  if (stored?.count === MAX_RECORDS) throw new Problem('sandbox_full');
}

/** Whatever a token permits, a live tenant is not played with. @throws Problem sandbox_only */
export function requireSandbox({ caller }: Pick<Context, 'caller'>): void {
  if (caller.tenantMode !== 'sandbox') throw new Problem('sandbox_only');
}
