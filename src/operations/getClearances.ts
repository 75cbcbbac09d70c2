import type { Operation } from './operation.js';
import { clearances } from '../domain/approvals/clearance.js';
import { clearanceView } from '../views/clearanceView.js';

/** GET /clients/{id}/clearances: whether a patient may get treatments at a clinic on a day. */
export const getClearances: Operation<'getClearances'> = async ({ path, query }, context) => {
  const { day, clearances: found } = await clearances(context, path.id, query);
  return { status: 200, body: { at: day, data: found.map(clearanceView) } };
};
