import { invalidState } from '../../problem.js';
import { reviewedIdentity } from '../patients/identity.js';
import type { FrozenProvider } from '../providers/licenses.js';
import type { ModelContext } from '../transactions/transaction.js';
import { approvalEnded } from './holds.js';
import { openLines } from './money.js';
import type { OrderRecord } from './orders.js';
import { shipToOf } from './shipTo.js';

/** The lines of an order that are neither held nor cancelled, and what a pharmacy needs to dispense them. */
export type Dispensing = Awaited<ReturnType<typeof dispense>>;

/**
 * Collects what a pharmacy needs to dispense an order. Call it in the snapshot that read the order.
 * @param order with the lines of the caller's pharmacies
 * @throws Problem invalid_state if all these lines are cancelled; approval_ended if all others are held;
 * ship_to_required
 */
export async function dispense({ db }: ModelContext, order: OrderRecord) {
  const { tenantId, encounter } = order;
  const open = openLines(order.lines);
  if (open.length === 0) throw invalidState('cancelled');
  const free = open.filter(({ holdAt }) => holdAt === null);
  if (free.length === 0) throw approvalEnded(order.lines, open);
  const shipTo = shipToOf(order);
  const ofTenant = { where: { tenantId } };
  const { patient, treatments, gfeItems } = await db.prisma.encounter.findUniqueOrThrow({
    where: { tenantId_id: { tenantId, id: encounter.id } },
    include: { patient: true, treatments: ofTenant, gfeItems: ofTenant },
  });
  const lines = free.map((line) => {
    const treatment = treatments.find(({ productId }) => productId === line.productId);
    const item = gfeItems.find(({ id }) => id === line.gfeItemId);
    if (!treatment || !item?.decidedAt)
      throw new Error(`the treatment or the decision of order line ${line.id} is missing: restore a backup`);
    return { line, treatment, approvedAt: item.decidedAt, validUntil: item.validUntil };
  });
  const { isIdentityChanged } = reviewedIdentity(encounter, patient);
  // Null: the provider was not registered.
  const provider = encounter.reviewedProvider as FrozenProvider | null;
  return { order, patient, isIdentityChanged, shipTo, provider, lines };
}
