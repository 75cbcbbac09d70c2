import type { Operation } from './operation.js';
import { encounterNumber } from '../domain/encounters/lookup.js';
import * as reorders from '../domain/reviews/reorder.js';
import { orderView } from '../views/orderView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /encounters/{encounter_id}/reorder: a further order of treatments that are still covered. */
export const reorderTreatments: Operation<'reorderTreatments'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const order = await reorders.reorderTreatments(transaction, encounterNumber(path.encounter_id), body);
    return { status: 201, headers: { Location: `/orders/${order.orderNo}` }, body: orderView(order) };
  });
