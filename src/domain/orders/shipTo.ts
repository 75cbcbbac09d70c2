import type { OrderLine } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { invalidState, Problem } from '../../problem.js';
import type { Decision, Moment } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';
import { orderCommand, type OrderState } from './command.js';
import { orderEvent, type OrderRecord } from './orders.js';

/** A complete address of delivery. */
export type ShipTo = Bodies['SetShipToRequest'];

/** The parts of an address without which a pharmacy cannot ship. */
const required = [
  'name',
  'address1',
  'city',
  'state',
  'postal',
  'country',
] as const satisfies readonly (keyof ShipTo)[];

/** The order's address of delivery. @throws Problem ship_to_required, whose errors name the missing parts */
export function shipToOf(order: Pick<OrderRecord, 'shipTo'>): ShipTo {
  const address = order.shipTo as Partial<ShipTo> | null;
  const missing = required.filter((part) => !address?.[part]?.trim());
  if (missing.length === 0) return address as ShipTo;
  const errors = missing.map((part) => {
    return { pointer: `#/shipTo/${part}`, code: 'ship_to_required', detail: 'is missing' };
  });
  throw new Problem('ship_to_required', undefined, { errors });
}

const ADDRESS_FIXED =
  'The address is fixed while a line is accepted, shipped or delivered. Unless one is delivered, the pharmacy can report an exception first.';

const isTaken = ({ status }: OrderLine): boolean =>
  status === 'accepted' || status === 'shipped' || status === 'delivered';

/**
 * Replaces the address of delivery while no line is accepted, shipped or delivered.
 * @throws Problem order_not_found, clinic_not_permitted, invalid_state
 */
export const setShipTo = (context: CallerContext, orderNo: string, shipTo: ShipTo): Promise<OrderRecord> =>
  orderCommand(context, orderNo, (state, at) => decideShipTo(state, shipTo, at));

/** @throws Problem invalid_state while a line is accepted, shipped or delivered */
export function decideShipTo({ order }: OrderState, shipTo: ShipTo, { now }: Moment): Decision<OrderRecord> {
  const taken = order.lines.find(isTaken);
  if (taken) throw invalidState(taken.status, ADDRESS_FIXED);
  const changed = { ...order, shipTo: { ...shipTo }, updatedAt: now };
  return { state: changed, events: [orderEvent('order.updated', changed)] };
}
