import { Prisma } from '../../../generated/prisma/client.js';
import type { LookupContext } from '../transactions/transaction.js';

/**
 * Counts a new or withdrawn document as news of the locked patient. A trigger counts changes of the patient's
 * columns; commands on encounters count their news by `withNews`.
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
