import { setTimeout as delay } from 'node:timers/promises';
import { endsWithin } from '../adapters/endsWithin.js';
import { isUnavailable, sqlState } from '../adapters/database/databaseErrors.js';
import { serveEndpoint, takeEndpoints, type DeliveryContext } from '../domain/webhooks/deliver.js';
import { makeDeliveries } from '../domain/webhooks/fanOut.js';
import { describeCauses } from '../failures.js';

/** Endpoints that are sent to at the same time. */
const MAX_ENDPOINTS = 200;
/** Milliseconds between two looks for retries that are due. */
const SENDING_PAUSE = 2_000;
/** Milliseconds between two looks for events that no request of this server has recorded, but a job, or another server. */
const MAKING_PAUSE = 5_000;
/** Milliseconds after every step, so that a stream of events does not turn into a stream of statements. */
const MIN_PAUSE = 50;

interface Deliveries {
  /** Makes and sends deliveries at once: events have been committed. */
  readonly wake: () => void;
  /**
   * Takes nothing more and waits for what is being sent.
   * @param limit milliseconds after which it is left: it is sent again, by another process or after the next start
   */
  stop(limit: number): Promise<void>;
}

/**
 * Makes and sends webhooks until it is stopped, each in a loop of its own. Any number of processes may do so on one
 * database: an endpoint is taken by one of them. What a process has taken when it dies is free again within half a minute.
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
    return { wake: () => alarm.abort(), ended: run() };
  };
  const sending = repeat(SENDING_PAUSE, async () => {
    const room = MAX_ENDPOINTS - serving.size;
    const taken = room > 0 ? await takeEndpoints(context, room) : [];
    for (const endpoint of taken) {
      const served = serveEndpoint(context, endpoint)
        .catch((error: unknown) => logFailure(context, error))
        .finally(() => {
          serving.delete(served);
          // The endpoint may have more that is due.
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
  log[level]({ sqlstate: sqlState(error), causes: describeCauses(error) }, 'webhooks could not be sent');
}
