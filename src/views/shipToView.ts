import type { Schemas } from '../contract.js';
import type { ShipTo } from '../domain/orders/shipTo.js';

/** The address of delivery of an order. */
export const shipToView = ({ address2, phone, ...parts }: ShipTo): Schemas['DeliveryAddress'] => {
  return { ...parts, address2: address2 ?? null, phone: phone ?? null };
};
