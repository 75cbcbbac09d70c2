import type { Operation } from './operation.js';
import * as requests from '../domain/sandbox/requests.js';
import { requestDetailView } from '../views/requestView.js';

/** GET /sandbox/requests/{request_id}: a request of the last hour with its JSON bodies. */
export const getRequest: Operation<'getRequest'> = async ({ path }, context) => {
  const exchange = await requests.getRequest(context, path.request_id);
  return { status: 200, body: requestDetailView(exchange, context.routes) };
};
