import { Prisma, type OrderLine } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { invalidState, Problem, type FieldError } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import { referenceOf } from '../events/subject.js';
import { findRows, updateRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { approvalEnded, holdReturned, lockedOrder } from './holds.js';
import { getOrder, ofPharmacies, type OrderRecord } from './orders.js';
import { shipToOf } from './shipTo.js';

type Status = OrderLine['status'];

/** By status of an order line, the statuses that may follow. */
export const fulfilmentTransitions: Readonly<Record<Status, readonly Status[]>> = {
  pending: ['accepted', 'exception'],
  accepted: ['shipped', 'exception'],
  shipped: ['delivered', 'exception'],
  delivered: [],
  exception: ['accepted', 'cancelled'],
  cancelled: [],
};

/**
 * Records a pharmacy's progress with its lines, all or none, and order.fulfilment_updated. Details that are not sent
 * keep their values. A line that comes back is held if its approval has ended meanwhile.
 * @throws Problem order_not_found, also if the caller sees no line of the pharmacy; treatment_not_found;
 * clinic_not_permitted; approval_ended for held lines; invalid_state; ship_to_required for a shipment
 */
export async function recordFulfilment(
  context: CallerContext,
  orderNo: string,
  { pharmacyId, treatmentIds, status, ...details }: Bodies['RecordFulfilmentRequest'],
): Promise<OrderRecord> {
  const whole = await lockedOrder(context, orderNo);
  const order = ofPharmacies(context, whole);
  const { tenantId, orderStatus, clinicId } = order;
  const lines = namedLines(order, canonicalUuid(pharmacyId), treatmentIds?.map(canonicalUuid));
  const isLeaving = status === 'accepted' || status === 'shipped';
  if (orderStatus === 'cancelled' || (orderStatus === 'refunded' && isLeaving)) throw invalidState(orderStatus);
  requireTransition(order, lines, status);
  if (status === 'accepted' && orderStatus !== 'paid' && (await havePrescription(context, order, lines))) {
    throw invalidState(orderStatus, 'A prescription can be accepted only after the order is paid.');
  }
  if (status === 'shipped') await shipToOf(context, whole);
  const updatedAt = context.now();
  const moments = {
    ...(status === 'accepted' ? { expiresAt: null } : {}),
    ...(status === 'shipped' ? { shippedAt: updatedAt } : {}),
  };
  const where = Prisma.sql`id = ANY(${lines.map(({ id }) => id)}::uuid[])`;
  await updateRows(context.db, tenantId, 'OrderLine', { ...details, status, ...moments, updatedAt }, where);
  recordEvent(context, { tenantId, clinicId }, 'order.fulfilment_updated', {
    order_no: order.orderNo,
    encounter_id: Number(order.encounter.encounterNo),
    ...referenceOf(order.encounter),
    pharmacyId: canonicalUuid(pharmacyId),
    fulfilment_status: status,
    treatmentIds: lines.map(({ productId }) => productId),
  });
  if (status === 'exception' && orderStatus !== 'refunded') await holdReturned(context, whole, lines);
  return getOrder(context, orderNo);
}

/**
 * The pharmacy's lines for these treatments; without treatments, all its lines that are not held, or all if all are
 * held.
 * @throws Problem order_not_found, treatment_not_found
 */
function namedLines({ lines }: OrderRecord, pharmacyId: string, treatmentIds: string[] | undefined): OrderLine[] {
  const own = lines.filter((line) => line.pharmacyId === pharmacyId);
  if (own.length === 0) {
    throw new Problem('order_not_found', 'The order has no line of this pharmacy. Check pharmacyId.', {
      errors: noLine,
    });
  }
  if (!treatmentIds) {
    const free = own.filter(({ holdAt }) => holdAt === null);
    return free.length > 0 ? free : own;
  }
  const errors = treatmentIds.flatMap((id, index): FieldError[] => {
    const isKnown = own.some(({ productId }) => productId === id);
    const detail = 'is not a line of this pharmacy in the order';
    return isKnown ? [] : [{ pointer: `#/treatmentIds/${index}`, code: 'treatment_not_found', detail }];
  });
  if (errors.length > 0) throw new Problem('treatment_not_found', undefined, { errors });
  return own.filter(({ productId }) => treatmentIds.includes(productId));
}

/** Checks the change of lines; a held line can only be cancelled. @throws Problem approval_ended, invalid_state */
function requireTransition({ lines }: OrderRecord, changed: readonly OrderLine[], status: Status): void {
  const held = changed.filter(({ holdAt }) => holdAt !== null);
  if (held.length > 0 && status !== 'cancelled') throw approvalEnded(lines, held);
  const isRefused = (line: OrderLine): boolean =>
    held.includes(line) ? line.status === 'cancelled' : !fulfilmentTransitions[line.status].includes(status);
  const refused = changed.filter(isRefused);
  const [first] = refused;
  if (!first) return;
  const errors = refused.map((line): FieldError => {
    const detail = `is ${line.status}, so it cannot become ${status}`;
    return { pointer: `#/lines/${lines.indexOf(line)}`, code: 'invalid_state', detail };
  });
  throw new Problem('invalid_state', undefined, { errors, extra: { current_status: first.status } });
}

async function havePrescription(
  { db }: CallerContext,
  { tenantId, encounterId }: OrderRecord,
  lines: readonly OrderLine[],
): Promise<boolean> {
  const productIds = lines.map(({ productId }) => productId);
  const where = Prisma.sql`encounter_id = ${encounterId}::uuid AND product_id = ANY(${productIds}::uuid[])
    AND rx IS NOT NULL LIMIT 1`;
  return (await findRows(db, tenantId, 'EncounterTreatment', where)).length > 0;
}

const noLine = [
  { pointer: '#/pharmacyId', code: 'order_not_found', detail: 'is not the pharmacy of a line of this order' },
];
