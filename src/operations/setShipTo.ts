import type { Operation } from './operation.js';
import * as shipTo from '../domain/orders/shipTo.js';
import { shipToView } from '../views/shipToView.js';
import { withIdempotency } from './withIdempotency.js';

/** PUT /orders/{order_no}/ship-to: sets the address of delivery, while no line is accepted, shipped or delivered. */
export const setShipTo: Operation<'setShipTo'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const { encounter } = await shipTo.setShipTo(transaction, path.order_no, body);
    context.audit.patientId = encounter.patientId;
    return { status: 200, body: shipToView(body) };
  });
