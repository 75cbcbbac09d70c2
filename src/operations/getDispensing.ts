import type { Operation } from './operation.js';
import * as orders from '../domain/orders/list.js';
import { dispense } from '../domain/orders/dispensing.js';
import { dispensingView } from '../views/dispensingView.js';

/** GET /orders/{order_no}/dispensing: for pharmacies. The audit records the patient even if all lines are held. */
export const getDispensing: Operation<'getDispensing'> = ({ path }, context) =>
  context.db.snapshot(async (db) => {
    const inside = { ...context, db };
    const order = await orders.showOrder(inside, path.order_no);
    context.audit.patientId = order.encounter.patientId;
    return { status: 200, body: dispensingView(await dispense(inside, order)) };
  });
