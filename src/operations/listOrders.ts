import type { Operation } from './operation.js';
import * as orderList from '../domain/orders/list.js';
import { cursorPage } from '../views/cursorPage.js';
import { orderView } from '../views/orderView.js';

/** GET /orders: newest first. */
export const listOrders: Operation<'listOrders'> = async ({ query }, context) => {
  const page = await orderList.listOrders(context, query);
  return { status: 200, body: cursorPage(page, orderView) };
};
