import { Prisma } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { invalidState, Problem } from '../../problem.js';
import { updateRows } from '../transactions/rows.js';
import type { CallerContext, LookupContext } from '../transactions/transaction.js';
import { lockedOrder } from './holds.js';
import type { OrderRecord } from './orders.js';

/** A complete address of delivery. */
export type ShipTo = Bodies['SetShipToRequest'];
type Address = { readonly [Part in keyof ShipTo]: ShipTo[Part] | null };

/** The parts of an address without which a pharmacy cannot ship. */
const required = [
  'name',
  'address1',
  'city',
  'state',
  'postal',
  'country',
] as const satisfies readonly (keyof ShipTo)[];

/**
 * The address of delivery of an order: the order's own, otherwise the patient's present one.
 * @throws Problem ship_to_required, whose errors name the missing parts
 */
export async function shipToOf({ db }: Pick<LookupContext, 'db'>, order: OrderRecord): Promise<ShipTo> {
  const address = (order.shipTo as ShipTo | null) ?? (await patientAddress(db, order));
  const missing = required.filter((part) => !address[part]?.trim());
  if (missing.length === 0) return address as ShipTo;
  const errors = missing.map((part) => {
    return { pointer: `#/shipTo/${part}`, code: 'ship_to_required', detail: 'is missing' };
  });
  throw new Problem('ship_to_required', undefined, { errors });
}

/** The patient's address. Its city is unknown (`cityId` cannot be resolved), so it never suffices to ship an order. */
async function patientAddress(db: LookupContext['db'], { tenantId, encounter }: OrderRecord): Promise<Address> {
  const [address] = await db.of(tenantId).rows<Address>`
    SELECT first_name || ' ' || last_name AS name, address1, address2, NULL AS city, state.code AS state, postal,
      (SELECT country_code FROM ref_state WHERE country_id = coalesce(client.country_id, state.country_id) LIMIT 1) AS country,
      client.country_code || phone AS phone
    FROM client LEFT JOIN ref_state AS state ON state.id = client.state_id
    WHERE client.tenant_id = ${tenantId} AND client.id = ${encounter.patientId}::uuid`;
  if (!address) throw new Error('the patient of an order is missing');
  return address;
}

/**
 * Replaces the address of delivery until something has shipped.
 * @throws Problem order_not_found, clinic_not_permitted, invalid_state
 */
export async function setShipTo(context: CallerContext, orderNo: string, shipTo: ShipTo): Promise<OrderRecord> {
  const order = await lockedOrder(context, orderNo);
  // Orders that shipped before they could have an address may still get one, for their other lines.
  const shipped = order.shipTo && order.lines.find(({ shippedAt }) => shippedAt !== null);
  if (shipped) throw invalidState(shipped.status, 'A line of the order has shipped: its address can no longer change.');
  const { tenantId, id } = order;
  await updateRows(context.db, tenantId, 'Order', { shipTo: { ...shipTo } }, Prisma.sql`id = ${id}::uuid`);
  return order;
}
