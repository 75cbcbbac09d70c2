import type { Operation } from '../contract.js';
import { checkReadiness } from '../runtime/readiness.js';
import { readinessView } from '../views/readinessView.js';

/** GET /readyz: for load balancers; 503 while the database is down or the process is stopping. */
export const getReadiness: Operation<'getReadiness'> = async (_input, context) => {
  const readiness = await checkReadiness(context);
  return { status: readiness.ready ? 200 : 503, body: readinessView(readiness) };
};
