import { readinessView } from '../views/readinessView.js';
import type { Operation } from './operation.js';

/**
 * GET /readyz: 503 while the database is down or the process stops. Other failing parts are only reported: otherwise all
 * servers would leave the load balancer, and reads would end, too (D-95).
 */
export const getReadiness: Operation<'getReadiness'> = async (_input, { checkParts, isStopping }) => {
  const parts = await checkParts();
  const ready = parts.database && !isStopping();
  return { status: ready ? 200 : 503, body: readinessView(parts, ready) };
};
