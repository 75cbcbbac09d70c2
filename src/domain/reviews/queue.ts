import { Prisma, type ServiceQueue } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { stateOfEncounter } from './licences.js';
import { SHOWN, shownEncounter, type ShownEncounter, type ShownRow } from '../encounters/lookup.js';

export interface QueueHead {
  /** The most urgent first. */
  readonly encounters: ShownEncounter[];
  /** More wait. */
  readonly hasMore: boolean;
}

/**
 * The head of the queue, of the clinics that the caller may see and, if one is named, of one state. It includes encounters that cannot be claimed yet,
 * and no expired ones. An index has its order, so the length of the queue does not matter.
 */
export async function listReviewQueue(
  context: Context,
  {
    serviceQueue,
    state,
    limit,
  }: { readonly serviceQueue: ServiceQueue; readonly state?: string; readonly limit: number },
): Promise<QueueHead> {
  const { tenantId, allowedClinicIds } = context.caller;
  const clinics = allowedClinicIds ? Prisma.sql`clinic_id = ANY(${[...allowedClinicIds]}::uuid[])` : Prisma.sql`true`;
  const ofState = state === undefined ? Prisma.sql`true` : Prisma.sql`${stateOfEncounter} = ${state.toUpperCase()}`;
  // With a parameter here and a range of times below, the planner would expect too few rows of too many, and sort the
  // whole queue instead of reading its index.
  const atMost = Prisma.raw(String(limit + 1));
  const rows = await context.db.rows<ShownRow>(Prisma.sql`${SHOWN}
    WHERE tenant_id = ${tenantId} AND service_queue = ${serviceQueue}::service_queue AND status = 'pending_review'
      AND (expires_at <= ${context.now()}) IS NOT TRUE AND ${clinics} AND ${ofState}
    ORDER BY coalesce(scheduled_at, created_at), encounter_no LIMIT ${atMost}`);
  return { encounters: rows.slice(0, limit).map(shownEncounter), hasMore: rows.length > limit };
}
