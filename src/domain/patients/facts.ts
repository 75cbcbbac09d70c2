import { Prisma } from '../../../generated/prisma/client.js';
import type { LookupContext } from '../transactions/transaction.js';

/**
 * Counts a new document of a locked patient, on which approvals depend. A trigger counts facts in the patient's
 * columns, and decisions count their own.
 */
export async function countDocument(
  { db }: Pick<LookupContext, 'db'>,
  tenantId: string,
  patientId: string,
): Promise<void> {
  await db.of(tenantId).run(Prisma.sql`
    UPDATE client SET facts_version = facts_version + 1,
      facts_changes = jsonb_set(facts_changes, '{documents}', (facts_version + 1)::text::jsonb)
    WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid`);
}
