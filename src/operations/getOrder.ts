import type { Operation } from './operation.js';
import * as orders from '../domain/orders/list.js';
import { orderView } from '../views/orderView.js';

/** GET /orders/{order_no}: an order with its lines, payments and refunds. */
export const getOrder: Operation<'getOrder'> = async ({ path }, context) => {
  const order = await context.db.snapshot((db) => orders.showOrder({ ...context, db }, path.order_no));
  return { status: 200, body: orderView(order) };
};
