import type { OrderLine } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { invalidState, Problem, type FieldError } from '../../problem.js';
import { told } from '../events/record.js';
import { followedBy, type Decision, type Moment } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { orderCommand, type OrderState } from './command.js';
import { approvalEnded, elapsedHolds, held } from './holds.js';
import { openLines, settled } from './money.js';
import { changedSinceApproval, ofPharmacies, orderSubject, statusEvents, type OrderRecord } from './orders.js';
import { shipToOf } from './shipTo.js';

type Status = OrderLine['status'];
type Body = Bodies['RecordFulfilmentRequest'];

/** By status of an order line, the statuses that may follow (R-124). */
export const fulfilmentTransitions: Readonly<Record<Status, readonly Status[]>> = {
  pending: ['accepted', 'exception', 'cancelled'],
  accepted: ['shipped', 'exception', 'cancelled'],
  shipped: ['delivered', 'exception'],
  delivered: [],
  exception: ['accepted', 'cancelled'],
  cancelled: [],
};

/**
 * Records a pharmacy's progress with its lines, all or none, and emits order.fulfilment_updated (R-124).
 * @throws Problem as {@link decideFulfilment}, and clinic_not_permitted
 */
export const recordFulfilment = (context: CallerContext, orderNo: string, body: Body): Promise<OrderRecord> =>
  orderCommand(context, orderNo, (state, at) => decideFulfilment(state, body, at));

/**
 * A line that becomes an `exception` is held if its approval has ended by then (R-190), or if it was recalled (R-193).
 * @throws Problem, in this order, order_not_found, also if the caller sees no line of the pharmacy; treatment_not_found;
 * approval_ended for held lines (R-191); invalid_state; ship_to_required (R-203); facts_changed unless acknowledged (R-210)
 */
export function decideFulfilment(state: OrderState, body: Body, at: Moment): Decision<OrderRecord> {
  const { order: whole } = state;
  const { status } = body;
  const order = ofPharmacies(at, whole);
  const pharmacyId = canonicalUuid(body.pharmacyId);
  const lines = namedLines(order, pharmacyId, body.treatmentIds?.map(canonicalUuid));
  requireTransition(order, lines, status);
  if (status === 'accepted' || status === 'shipped') requireMayLeave(state, lines, body);
  const changed = settled({
    ...whole,
    updatedAt: at.now,
    lines: whole.lines.map((line) =>
      lines.some(({ id }) => id === line.id)
        ? { ...line, ...progress(line, state, body, at.now), updatedAt: at.now }
        : line,
    ),
  });
  const event = told({ ...whole, pharmacyIds: [pharmacyId] }, 'order.fulfilment_updated', {
    ...orderSubject(whole),
    pharmacyId,
    fulfilment_status: status,
    treatmentIds: lines.map(({ productId }) => productId),
    ...(status === 'shipped' && { carrier: body.carrier ?? null, trackingNumber: body.trackingNumber ?? null }),
  });
  const returned = heldIfEnded(state, changed, lines, at.now);
  return { state: returned.state, events: [event, ...statusEvents(whole, changed), ...returned.events] };
}

/**
 * The columns that a pharmacy's report changes. Omitted details keep their values, except carrier and tracking number when
 * the line ships. An accepted line no longer expires; an `exception` does (R-190).
 */
function progress(
  line: OrderLine,
  { treatments }: OrderState,
  { status, carrier, trackingNumber, reason }: Body,
  now: Date,
): Partial<OrderLine> {
  const approvalEnd = treatments.find(({ productId }) => productId === line.productId)?.validUntil ?? null;
  const old = status === 'shipped' ? { carrier: null, trackingNumber: null } : line;
  return {
    status,
    carrier: carrier ?? old.carrier,
    trackingNumber: trackingNumber ?? old.trackingNumber,
    reason: reason ?? line.reason,
    expiresAt: status === 'exception' ? approvalEnd : null,
    shippedAt: status === 'shipped' ? now : line.shippedAt,
  };
}

/** @throws Problem invalid_state, ship_to_required, facts_changed */
function requireMayLeave({ order, treatments }: OrderState, lines: readonly OrderLine[], body: Body): void {
  const { orderStatus, balanceAmt } = order;
  if (orderStatus === 'refunded') throw invalidState(orderStatus);
  const isPrescribed = ({ productId }: OrderLine): boolean =>
    treatments.some((one) => one.productId === productId && one.rx !== null);
  if (!balanceAmt.isZero() && lines.some(isPrescribed)) {
    throw invalidState(orderStatus, 'A prescription can be accepted or shipped only after the order is paid.');
  }
  shipToOf(order);
  const changed = changedSinceApproval(order);
  if (changed.length > 0 && body.acknowledgeChanges !== true) {
    throw new Problem('facts_changed', undefined, { extra: { changed } });
  }
}

/** Holds lines that became an `exception`, if their approval has ended or they were recalled. */
function heldIfEnded(
  { treatments }: OrderState,
  order: OrderRecord,
  lines: readonly OrderLine[],
  now: Date,
): Decision<OrderRecord> {
  const cameBack = (line: OrderLine) => lines.some(({ id }) => id === line.id) && line.status === 'exception';
  const reasonOf = (line: OrderLine) =>
    treatments.find(({ productId }) => productId === line.productId)?.endReason ?? (line.recalledAt && 'stopped');
  const ended = (['revoked', 'superseded', 'stopped'] as const).reduce<Decision<OrderRecord>>(
    (before, reason) =>
      followedBy(before, (state) => held(state, (line) => cameBack(line) && reasonOf(line) === reason, reason, now)),
    { state: order, events: [] },
  );
  return followedBy(ended, (state) => elapsedHolds(state, now));
}

/**
 * The pharmacy's lines for these treatments; without treatments, its lines that are neither held nor cancelled or, if
 * there are none, the held ones. If all are cancelled, returns all: they accept no change.
 * @throws Problem order_not_found, treatment_not_found
 */
function namedLines({ lines }: OrderRecord, pharmacyId: string, treatmentIds: string[] | undefined): OrderLine[] {
  const own = lines.filter((line) => line.pharmacyId === pharmacyId);
  if (own.length === 0) {
    throw new Problem('order_not_found', 'The order shows you no line of this pharmacy. Check pharmacyId.', {
      errors: noLine,
    });
  }
  if (!treatmentIds) {
    const open = openLines(own);
    const free = open.filter(({ holdAt }) => holdAt === null);
    return [free, open].find(({ length }) => length > 0) ?? own;
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
  const stopped = openLines(changed).filter(({ holdAt }) => holdAt !== null);
  if (stopped.length > 0 && status !== 'cancelled') throw approvalEnded(lines, stopped);
  const isRefused = (line: OrderLine): boolean =>
    !stopped.includes(line) && !fulfilmentTransitions[line.status].includes(status);
  const refused = changed.filter(isRefused);
  const [first] = refused;
  if (!first) return;
  const errors = refused.map((line): FieldError => {
    const next = fulfilmentTransitions[line.status].join(' or ');
    const detail = `is ${line.status}${next ? `: it can become ${next}, not ${status}` : ', which is final'}`;
    return { pointer: `#/lines/${lines.indexOf(line)}`, code: 'invalid_state', detail };
  });
  throw new Problem('invalid_state', undefined, { errors, extra: { current_status: first.status } });
}

const noLine = [
  { pointer: '#/pharmacyId', code: 'order_not_found', detail: 'is not the pharmacy of a line that you may see' },
];
