import { Prisma } from '../../../generated/prisma/client.js';
import type { LookupContext } from '../transactions/transaction.js';

/** Counts new facts about a locked patient, which approvals depend on. A trigger counts those in its columns. */
export const factsCount = (tenantId: string, patientId: string, count = 1): Prisma.Sql => Prisma.sql`
  UPDATE client SET facts_version = facts_version + ${count}::int
  WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid RETURNING facts_version AS "factsVersion"`;

/** Runs {@link factsCount}. @returns the patient's version of the facts from now on */
export async function countFacts(
  { db }: Pick<LookupContext, 'db'>,
  { tenantId, patientId }: { readonly tenantId: string; readonly patientId: string },
  count = 1,
): Promise<bigint> {
  const [patient] = await db.of(tenantId).rows<{ factsVersion: bigint }>(factsCount(tenantId, patientId, count));
  if (!patient) throw new Error('a patient is missing although it was locked');
  return patient.factsVersion;
}
