import { setTimeout as delay } from 'node:timers/promises';
import { ping } from '../adapters/database.js';
import type { PublicContext } from '../context.js';

export interface Readiness {
  readonly ready: boolean;
  readonly database: boolean;
  readonly objectStore: boolean;
}

/** A part that takes longer is as good as down to a load balancer. */
const LIMIT_MS = 2_000;

/** Whether requests can be served: the database and the object store answer, and the process is not stopping. */
export async function checkReadiness(context: PublicContext): Promise<Readiness> {
  const store = context.objects.check().then(() => true, () => false);
  const [database, objectStore] = await Promise.all([
    ping(context.db, LIMIT_MS),
    Promise.race([store, delay(LIMIT_MS, false, { ref: false })]),
  ]);
  return { ready: database && objectStore && !context.isStopping(), database, objectStore };
}
