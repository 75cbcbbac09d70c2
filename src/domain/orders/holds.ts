import type { OrderLine } from '../../../generated/prisma/client.js';
import { Problem, type FieldError } from '../../problem.js';
import { told } from '../events/record.js';
import { followedBy, type Decision, type EventDraft } from '../transactions/changes.js';
import { settled } from './money.js';
import { orderSubject, statusEvents, type OrderRecord } from './orders.js';

type HoldReason = NonNullable<OrderLine['holdReason']>;

/** Whether a line is on its way or delivered: then it can be recalled, but not held. */
const hasLeft = ({ status }: OrderLine): boolean => status === 'shipped' || status === 'delivered';

/**
 * Holds lines, which cannot be undone: from now on, or from `expiresAt` if that has passed. Lines that
 * are already held, cancelled, shipped or delivered do not change.
 */
export function held(
  order: OrderRecord,
  isMeant: (line: OrderLine) => boolean,
  reason: HoldReason,
  now: Date,
): Decision<OrderRecord> {
  const lines = order.lines.filter(
    (line) => isMeant(line) && line.holdAt === null && line.status !== 'cancelled' && !hasLeft(line),
  );
  if (lines.length === 0) return { state: order, events: [] };
  const changed = settled({
    ...order,
    updatedAt: now,
    lines: order.lines.map((line) => {
      if (!lines.includes(line)) return line;
      const holdAt = line.expiresAt !== null && line.expiresAt < now ? line.expiresAt : now;
      return { ...line, holdReason: reason, holdAt, expiresAt: null };
    }),
  });
  const events = [lineEvent('order.held', order, reason, lines), ...statusEvents(order, changed)];
  return { state: changed, events };
}

/** Recalls lines that are shipped or delivered, and tells their pharmacies by an event. */
export function recalled(
  order: OrderRecord,
  isMeant: (line: OrderLine) => boolean,
  reason: 'revoked' | 'stopped',
  now: Date,
): Decision<OrderRecord> {
  const lines = order.lines.filter((line) => isMeant(line) && hasLeft(line) && line.recalledAt === null);
  if (lines.length === 0) return { state: order, events: [] };
  const changed = order.lines.map((line) => (lines.includes(line) ? { ...line, recalledAt: now } : line));
  const events = [lineEvent('order.recalled', order, reason, lines)];
  return { state: { ...order, updatedAt: now, lines: changed }, events };
}

/** Recalls lines that are shipped or delivered, unless their approval was only superseded; holds other open lines. */
export function stopped(
  order: OrderRecord,
  isMeant: (line: OrderLine) => boolean,
  reason: Exclude<HoldReason, 'expired'>,
  now: Date,
): Decision<OrderRecord> {
  const first = held(order, isMeant, reason, now);
  return reason === 'superseded' ? first : followedBy(first, (state) => recalled(state, isMeant, reason, now));
}

/** Whether a line must be held because its approval has expired: only while `pending` or an `exception`. */
export const isExpired = ({ expiresAt }: OrderLine, now: Date): boolean => expiresAt !== null && expiresAt <= now;

/** Holds the `pending` lines and those with an `exception` whose approval has expired. */
export function elapsedHolds(order: OrderRecord, now: Date): Decision<OrderRecord> {
  return held(order, (line) => isExpired(line, now), 'expired', now);
}

/** The order with its due holds applied. A sweep, or the next change of the order, records those holds. */
export const applyElapsedHolds = (order: OrderRecord, now: Date): OrderRecord => elapsedHolds(order, now).state;

function lineEvent(
  type: 'order.held' | 'order.recalled',
  order: OrderRecord,
  reason: HoldReason,
  lines: readonly OrderLine[],
): EventDraft {
  const place = { ...order, pharmacyIds: lines.map(({ pharmacyId }) => pharmacyId) };
  return told(place, type, { ...orderSubject(order), reason, treatmentIds: lines.map(({ productId }) => productId) });
}

/**
 * The problem of a request that concerns held lines.
 * @param visible the lines of the order as the caller sees it
 */
export function approvalEnded(visible: readonly OrderLine[], lines: readonly OrderLine[]): Problem {
  const errors = lines.map(({ id, holdReason }): FieldError => {
    const pointer = `#/lines/${visible.findIndex((line) => line.id === id)}`;
    return { pointer, code: 'approval_ended', detail: `is held: ${holdReason}` };
  });
  return new Problem('approval_ended', undefined, { errors });
}
