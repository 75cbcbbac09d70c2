import type { Operation } from './operation.js';
import * as requests from '../domain/sandbox/requests.js';
import { requestView } from '../views/requestView.js';

/** GET /sandbox/requests: requests of the last 7 days with their outcomes. */
export const listRequests: Operation<'listRequests'> = async ({ query }, context) => {
  const { rows, nextCursor, hasMore } = await requests.listRequests(context, query);
  const data = rows.map((row) => requestView(row, context.routes));
  return { status: 200, body: { data, next_cursor: hasMore ? nextCursor : null, has_more: hasMore } };
};
