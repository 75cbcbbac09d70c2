import type { Operation } from './operation.js';
import { withEncounterNumber } from '../domain/encounters/lookup.js';
import * as reorders from '../domain/reviews/reorder.js';
import { orderView } from '../views/orderView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /encounters/{encounter_id}/reorder: a further order of treatments that are still covered. */
export const reorderTreatments: Operation<'reorderTreatments'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const order = await withEncounterNumber(transaction, path.encounter_id, (encounterNo) =>
      reorders.reorderTreatments(transaction, encounterNo, body),
    );
    return { status: 201, headers: { Location: `/orders/${order.orderNo}` }, body: orderView(order) };
  });
