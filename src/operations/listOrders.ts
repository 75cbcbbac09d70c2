import type { Operation } from './operation.js';
import * as orderList from '../domain/orders/list.js';
import { orderView } from '../views/orderView.js';

/** GET /orders: newest first. */
export const listOrders: Operation<'listOrders'> = async ({ query }, context) => {
  const { rows, nextCursor } = await orderList.listOrders(context, query);
  const data = rows.map(orderView);
  return { status: 200, body: { data, next_cursor: nextCursor, has_more: nextCursor !== null } };
};
