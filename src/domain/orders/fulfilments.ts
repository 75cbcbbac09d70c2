import { Prisma, type Fulfilment } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { invalidState, Problem } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import { findRows, updateRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { getOrder, lockOrder, type OrderRecord } from './orders.js';

type Status = Fulfilment['status'];

/** The states that may follow each state. */
export const fulfilmentTransitions: Readonly<Record<Status, readonly Status[]>> = {
  pending: ['accepted'],
  accepted: ['shipped', 'exception'],
  shipped: ['delivered', 'exception'],
  delivered: [],
  exception: ['accepted', 'cancelled'],
  cancelled: [],
};

/**
 * Records the progress of a pharmacy with its lines, and order.fulfilment_updated. Details that are not sent are kept.
 * @throws Problem order_not_found, also if the caller sees no line of the pharmacy; clinic_not_permitted; invalid_state
 */
export async function recordFulfilment(
  context: CallerContext,
  orderNo: string,
  { pharmacyId, status, ...details }: Bodies['RecordFulfilmentRequest'],
): Promise<OrderRecord> {
  await lockOrder(context, context.caller.tenantId, orderNo);
  const order = await getOrder(context, orderNo);
  const { tenantId, id: orderId, orderStatus, clinicId } = order;
  const fulfilment = order.fulfilments.find((one) => one.pharmacyId === canonicalUuid(pharmacyId));
  if (!fulfilment) throw new Problem('order_not_found', 'The order has no line of this pharmacy.', { errors: noLine });
  if (orderStatus === 'cancelled' || orderStatus === 'refunded') throw invalidState(orderStatus);
  if (!fulfilmentTransitions[fulfilment.status].includes(status)) throw invalidState(fulfilment.status);
  if (status === 'accepted' && orderStatus !== 'paid' && (await hasPrescription(context, order, fulfilment))) {
    throw invalidState(orderStatus, 'A prescription can be accepted only after the order is paid.');
  }
  const updatedAt = context.now();
  const shipped = status === 'shipped' ? { shippedAt: updatedAt } : {};
  const where = Prisma.sql`order_id = ${orderId}::uuid AND pharmacy_id = ${fulfilment.pharmacyId}::uuid`;
  await updateRows(context.db, tenantId, 'Fulfilment', { ...details, status, ...shipped, updatedAt }, where);
  recordEvent(context, { tenantId, clinicId }, 'order.fulfilment_updated', {
    order_no: order.orderNo,
    encounter_id: Number(order.encounter.encounterNo),
    pharmacyId: fulfilment.pharmacyId,
    fulfilment_status: status,
  });
  return getOrder(context, orderNo);
}

async function hasPrescription(
  { db }: CallerContext,
  { tenantId, lines }: OrderRecord,
  { pharmacyId }: Fulfilment,
): Promise<boolean> {
  const productIds = lines.filter((line) => line.pharmacyId === pharmacyId).map(({ productId }) => productId);
  const where = Prisma.sql`product_id = ANY(${productIds}::uuid[]) LIMIT 1`;
  return (await findRows(db, tenantId, 'ProductRx', where)).length > 0;
}

const noLine = [
  { pointer: '#/pharmacyId', code: 'order_not_found', detail: 'is not the pharmacy of a line of this order' },
];
