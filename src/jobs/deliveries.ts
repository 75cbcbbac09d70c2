import { setTimeout as delay } from 'node:timers/promises';
import { endsWithin } from '../adapters/endsWithin.js';
import { isUnavailable, failureOf } from '../adapters/database/databaseErrors.js';
import { serveEndpoint, takeEndpoints, type DeliveryContext } from '../domain/webhooks/deliver.js';
import { makeDeliveries } from '../domain/webhooks/fanOut.js';

/** Maximum of endpoints that are served at the same time. */
const MAX_ENDPOINTS = 200;
/** Milliseconds between two queries for due deliveries, unless something wakes the loop. */
const SENDING_PAUSE = 2_000;
/** Milliseconds between two queries for events that a job or another server has recorded. */
const MAKING_PAUSE = 5_000;
/** Milliseconds after every step of a loop, so that a stream of events does not cause a stream of statements. */
const MIN_PAUSE = 50;

interface Deliveries {
  /** Makes and sends due deliveries without waiting for the next query; call it after events have been committed. */
  readonly wake: () => void;
  /**
   * Takes no more endpoints and waits for running deliveries.
   * @param limit milliseconds until deliveries are abandoned: another process, or the next start, sends them again
   */
  stop(limit: number): Promise<void>;
}

/**
 * Runs two loops until it is stopped: one makes deliveries from events, one sends them. Any number of processes may do
 * this on one database: each endpoint is leased to one process, and the lease of a dead process ends within 30 s.
 */
export function startDeliveries(context: DeliveryContext): Deliveries {
  const serving = new Set<Promise<void>>();
  let isStopping = false;

  const repeat = (idlePause: number, step: () => Promise<boolean>) => {
    let alarm = new AbortController();
    const run = async (): Promise<void> => {
      while (!isStopping) {
        alarm = new AbortController();
        const isBusy = await step().catch((error: unknown) => logFailure(context, error));
        await delay(MIN_PAUSE);
        if (isBusy !== true) await delay(idlePause, undefined, { signal: alarm.signal }).catch(() => undefined);
      }
    };
    return { wake: () => alarm.abort('woken'), ended: run() };
  };
  const sending = repeat(SENDING_PAUSE, async () => {
    const free = MAX_ENDPOINTS - serving.size;
    const taken = free > 0 ? await takeEndpoints(context, free) : [];
    for (const endpoint of taken) {
      const served = serveEndpoint(context, endpoint)
        .catch((error: unknown) => logFailure(context, error))
        .finally(() => {
          serving.delete(served);
          // Continue at once, because the endpoint may have more due deliveries.
          sending.wake();
        });
      serving.add(served);
    }
    return false;
  });
  const making = repeat(MAKING_PAUSE, async () => {
    const hasMore = await makeDeliveries(context);
    sending.wake();
    return hasMore;
  });
  return {
    wake: () => making.wake(),
    async stop(limit) {
      isStopping = true;
      sending.wake();
      making.wake();
      const ended = Promise.all([sending.ended, making.ended]).then(() => Promise.all(serving));
      await endsWithin(limit, ended);
    },
  };
}

function logFailure({ log }: DeliveryContext, error: unknown): void {
  const level = isUnavailable(error) ? 'warn' : 'error';
  log[level](failureOf(error), 'a step of the webhook deliveries failed; it is repeated');
}
