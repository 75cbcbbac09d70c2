import type { Operation } from '../contract.js';
import { once } from '../domain/idempotency.js';
import { lockOrder } from '../domain/orders.js';
import { recordPayment as record } from '../domain/payments.js';
import { orderView } from '../views/orderView.js';

/** POST /orders/{order_no}/payments: money that was paid elsewhere. */
export const recordPayment: Operation<'recordPayment'> = ({ path, body }, context) =>
  once(
    context,
    async (transaction) => ({ status: 201, body: orderView(await record(transaction, path.order_no, body)) }),
    ({ db, caller }) => lockOrder(db, caller.tenantId, path.order_no),
  );
