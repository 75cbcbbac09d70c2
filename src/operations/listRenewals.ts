import type { Operation } from './operation.js';
import * as renewals from '../domain/approvals/renewals.js';
import { cursorPage } from '../views/cursorPage.js';
import { renewalView } from '../views/clearanceView.js';

/** GET /renewals: approvals in force that end before a day, the earliest end first. */
export const listRenewals: Operation<'listRenewals'> = async ({ query }, context) => {
  const page = await renewals.listRenewals(context, query);
  return { status: 200, body: cursorPage(page, renewalView) };
};
