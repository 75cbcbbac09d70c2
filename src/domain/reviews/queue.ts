import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { SHOWN, shownEncounter, shownSize, type ShownEncounter, type ShownRow } from '../encounters/lookup.js';
import { pageOf, withinBytes } from '../transactions/pageBytes.js';

/**
 * The head of the queue, most urgent first, for the caller's clinics and optionally for one state. It includes
 * encounters that cannot be claimed yet and leaves out expired ones. Indexes have its order, so the cost does not grow with
 * the queue.
 */
export async function listReviewQueue(
  context: Context,
  { serviceQueue, state, limit }: Input<'listReviewQueue'>['query'],
): Promise<{ readonly encounters: ShownEncounter[]; readonly hasMore: boolean }> {
  const { tenantId, allowedClinicIds } = context.caller;
  const clinics = allowedClinicIds ? Prisma.sql`clinic_id = ANY(${[...allowedClinicIds]}::uuid[])` : Prisma.sql`true`;
  const ofState = state === undefined ? Prisma.sql`true` : Prisma.sql`review_state = ${state.toUpperCase()}`;
  // A generic plan overestimates a LIMIT parameter and underestimates a range of times, and would sort the whole queue. A
  // literal LIMIT and IS NOT TRUE make it read the index.
  const atMost = limit <= 20 ? Prisma.sql`21` : Prisma.sql`101`;
  const head = Prisma.sql`${SHOWN}
    WHERE tenant_id = ${tenantId} AND service_queue = ${serviceQueue}::service_queue AND status = 'pending_review'
      AND (expires_at <= ${context.now()}) IS NOT TRUE AND ${clinics} AND ${ofState}
    ORDER BY coalesce(scheduled_at, created_at), encounter_no LIMIT ${atMost}`;
  const order = Prisma.sql`coalesce("scheduledAt", "createdAt"), "encounterNo"`;
  const found = await context.db.of(tenantId).rows<ShownRow>(withinBytes(head, order, shownSize));
  const rows = pageOf(found, limit);
  return { encounters: rows.map(shownEncounter), hasMore: found.length > rows.length };
}
