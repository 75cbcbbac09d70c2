import { readinessView } from '../views/readinessView.js';
import type { Operation } from './operation.js';

/**
 * GET /readyz: 503 while the database is down, or the process starts or stops. Failures of other parts are only reported: with a
 * 503, all servers would leave the load balancer, so that even reads would fail.
 */
export const getReadiness: Operation<'getReadiness'> = async (_input, { checkParts, isServing }) => {
  const parts = await checkParts();
  const ready = parts.database && isServing();
  return { status: ready ? 200 : 503, body: readinessView(parts, ready) };
};
