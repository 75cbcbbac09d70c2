import type { Operation } from './operation.js';
import * as refunds from '../domain/orders/payments.js';
import { orderView } from '../views/orderView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /orders/{order_no}/refunds: records a refund made elsewhere. */
export const refundPayment: Operation<'refundPayment'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const order = await refunds.refundPayment(transaction, path.order_no, body);
    return { status: 201, headers: { Location: `/orders/${order.orderNo}` }, body: orderView(order) };
  });
