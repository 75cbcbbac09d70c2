import type { Operation } from './operation.js';
import * as fulfilments from '../domain/orders/fulfilments.js';
import { orderView } from '../views/orderView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /orders/{order_no}/fulfilments: a pharmacy's progress with its lines. */
export const recordFulfilment: Operation<'recordFulfilment'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const order = await fulfilments.recordFulfilment(transaction, path.order_no, body);
    return { status: 200, body: orderView(order) };
  });
