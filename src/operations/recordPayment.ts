import type { Operation } from './operation.js';
import * as payments from '../domain/orders/payments.js';
import { orderView } from '../views/orderView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /orders/{order_no}/payments: records a payment made elsewhere. */
export const recordPayment: Operation<'recordPayment'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const order = await payments.recordPayment(transaction, path.order_no, body);
    return { status: 201, headers: { Location: `/orders/${order.orderNo}` }, body: orderView(order) };
  });
