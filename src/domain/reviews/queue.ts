import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { selectShown, shownEncounter, type ShownEncounter, type ShownRow } from '../encounters/lookup.js';
import type { ListPage } from '../transactions/listCursor.js';

/**
 * The head of the queue, in the order of R-47, for the caller's clinics and optionally for one clinic, review state
 * (R-107) or type of review. Includes encounters that cannot be claimed yet; excludes expired ones. Indexes have the
 * order of the queue and of a state's queue; the other filters apply while the index is read.
 */
export async function listReviewQueue(
  context: Context,
  { serviceQueue, state, reviewType, clinicId, limit }: Input<'listReviewQueue'>['query'],
): Promise<Omit<ListPage<ShownEncounter>, 'cursorOf'>> {
  const { tenantId, allowedClinicIds } = context.caller;
  const conditions = [
    ...(allowedClinicIds ? [Prisma.sql`clinic_id = ANY(${[...allowedClinicIds]}::uuid[])`] : []),
    ...(clinicId === undefined ? [] : [Prisma.sql`clinic_id = ${clinicId}::uuid`]),
    ...(state === undefined ? [] : [Prisma.sql`review_state = ${state.toUpperCase()}`]),
    ...(reviewType === undefined ? [] : [Prisma.sql`review_type = ${reviewType}::review_type`]),
  ];
  // With parameters for LIMIT and the range of times, a generic plan would estimate both wrongly and sort the whole
  // queue. A literal LIMIT and IS NOT TRUE make it read the index.
  const atMost = limit <= 20 ? Prisma.sql`21` : Prisma.sql`101`;
  const found = await context.db.of(tenantId).rows<ShownRow>`${selectShown(tenantId)}
    WHERE tenant_id = ${tenantId} AND service_queue = ${serviceQueue}::service_queue AND status = 'pending_review'
      AND (expires_at <= ${context.now()}) IS NOT TRUE AND ${Prisma.join([Prisma.sql`true`, ...conditions], ' AND ')}
    ORDER BY coalesce(scheduled_at, created_at), encounter_no LIMIT ${atMost}`;
  return { rows: found.slice(0, limit).map(shownEncounter), hasMore: found.length > limit };
}
