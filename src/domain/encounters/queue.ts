import { Prisma, type ServiceQueue } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { encounterInclude, type EncounterRecord } from './encounters.js';
import { inOrder } from '../values/paging.js';

export interface QueueHead {
  /** The most urgent first. */
  readonly encounters: EncounterRecord[];
  /** More wait. */
  readonly hasMore: boolean;
}

/**
 * The head of the queue, of the clinics that the caller may see. It includes encounters that cannot be claimed yet,
 * and no expired ones. An index has its order, so the length of the queue does not matter.
 */
export async function listReviewQueue(
  context: Context,
  { serviceQueue, limit }: { readonly serviceQueue: ServiceQueue; readonly limit: number },
): Promise<QueueHead> {
  const { tenantId, allowedClinicIds } = context.caller;
  const clinics = allowedClinicIds ? Prisma.sql`clinic_id = ANY(${allowedClinicIds}::uuid[])` : Prisma.sql`true`;
  // Prisma cannot order by an expression.
  const rows = await context.db.$queryRaw<{ id: string }[]>`
    SELECT id FROM encounter
    WHERE tenant_id = ${tenantId} AND service_queue = ${serviceQueue}::service_queue AND status = 'pending_review'
      AND expires_at > ${context.now()} AND ${clinics}
    ORDER BY coalesce(scheduled_at, created_at), encounter_no LIMIT ${limit + 1}`;
  const ids = rows.slice(0, limit).map(({ id }) => id);
  const found = await context.db.encounter.findMany({
    where: { tenantId, id: { in: ids }, status: 'pending_review' },
    include: encounterInclude,
  });
  return { encounters: inOrder(ids, found), hasMore: rows.length > limit };
}
