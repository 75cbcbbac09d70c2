import type { Operation } from './operation.js';
import * as cancellation from '../domain/orders/cancellation.js';
import { orderView } from '../views/orderView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /orders/{order_no}/cancel: an order without payments, of which no line is accepted or has shipped. */
export const cancelOrder: Operation<'cancelOrder'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const order = await cancellation.cancelOrder(transaction, path.order_no, body.reason);
    return { status: 200, body: orderView(order) };
  });
