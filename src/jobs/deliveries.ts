import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable, sqlState } from '../adapters/database/database.js';
import { serveEndpoint, takeEndpoints, type DeliveryContext } from '../domain/webhooks/deliver.js';
import { makeDeliveries } from '../domain/webhooks/fanOut.js';
import { describeCauses } from '../failures.js';

/** Endpoints that are sent to at the same time. */
const MOST_ENDPOINTS = 200;
/** Milliseconds between two looks when there is nothing to do. */
const PAUSE = 250;
/** Milliseconds before the next look when one failed. */
const PAUSE_AFTER_FAILURE = 1_000;

export interface Deliveries {
  /**
   * Takes nothing more and waits for what is being sent.
   * @param limit milliseconds after which it is left: it is sent again, by another process or after the next start
   */
  stop(limit: number): Promise<void>;
}

/**
 * Sends webhooks until it is stopped. Any number of processes may do so on one database: an endpoint is taken by one of
 * them. What a process has taken when it dies is free again within half a minute; the job engine would keep it for four
 * hours.
 */
export function startDeliveries(context: DeliveryContext): Deliveries {
  const halt = new AbortController();
  const { signal } = halt;
  const serving = new Set<Promise<void>>();
  let wake = new AbortController();

  const serve = async (work: Promise<void>): Promise<void> => {
    await work.catch((error: unknown) => logFailure(context, error));
    // What is served may have more that is due.
    wake.abort();
  };
  const look = async (): Promise<boolean> => {
    const hasMore = await makeDeliveries(context);
    const room = MOST_ENDPOINTS - serving.size;
    const taken = room > 0 ? await takeEndpoints(context, room) : [];
    for (const endpoint of taken) {
      const served = serve(serveEndpoint(context, endpoint)).finally(() => serving.delete(served));
      serving.add(served);
    }
    return hasMore || taken.length > 0;
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      wake = new AbortController();
      const pause = await look().then(
        (isBusy) => (isBusy ? 0 : PAUSE),
        (error: unknown) => (logFailure(context, error), PAUSE_AFTER_FAILURE),
      );
      await delay(pause, undefined, { signal: AbortSignal.any([signal, wake.signal]) }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    async stop(limit) {
      halt.abort();
      const timer = new AbortController();
      const done = running.then(() => Promise.all(serving)).then(() => timer.abort());
      await Promise.race([done, delay(limit, undefined, { signal: timer.signal }).catch(() => undefined)]);
    },
  };
}

function logFailure({ log }: DeliveryContext, error: unknown): void {
  const level = isUnavailable(error) ? 'warn' : 'error';
  log[level]({ sqlstate: sqlState(error), causes: describeCauses(error) }, 'webhooks could not be sent');
}
