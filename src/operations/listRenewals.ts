import type { Operation } from './operation.js';
import * as renewals from '../domain/approvals/renewals.js';
import { renewalView } from '../views/clearanceView.js';

/** GET /clearances: approvals that end soon, the first to end first. */
export const listRenewals: Operation<'listRenewals'> = async ({ query }, context) => {
  const { rows, nextCursor } = await renewals.listRenewals(context, query);
  return { status: 200, body: { data: rows.map(renewalView), next_cursor: nextCursor, has_more: nextCursor !== null } };
};
