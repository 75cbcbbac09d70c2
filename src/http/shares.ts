import type { Context } from '../context.js';
import { Problem } from '../problem.js';

/** Who may use the database, and how many requests at the same time. */
export interface Shares {
  /**
   * Runs the work when its tenant has a place.
   * @throws Problem dependency_unavailable when too many wait already, or when it has waited too long
   */
  run<T>(tenantId: string, work: (aside: Context['aside']) => Promise<T>): Promise<T>;
}

/** Of one tenant: what waits for longer has timed out at its caller before it is served. */
const MOST_WAITING = 200;
/** Milliseconds; as long as a connection may take (`openDatabase`). */
const LONGEST_WAIT = 5_000;

interface Waiting {
  admit(): void;
}

/**
 * A place is one request that uses the database. A tenant has half of the places at most, so that others always find one
 * soon; what it asks for beyond that waits in its own queue, and the queues are served in turn.
 * @param places as many as there are connections
 */
export function openShares(places: number, longestWait = LONGEST_WAIT): Shares {
  const share = Math.max(1, Math.floor(places / 2));
  const busy = new Map<string, number>();
  /** In the order of their turns. */
  const queues = new Map<string, Set<Waiting>>();
  let free = places;

  const count = (tenantId: string, change: 1 | -1): void => {
    const running = (busy.get(tenantId) ?? 0) + change;
    if (running === 0) busy.delete(tenantId);
    else busy.set(tenantId, running);
    free -= change;
  };
  const hasPlace = (tenantId: string): boolean => free > 0 && (busy.get(tenantId) ?? 0) < share;
  const admitNext = (): void => {
    for (const [tenantId, queue] of queues) {
      if (!hasPlace(tenantId)) continue;
      const [first] = queue;
      queues.delete(tenantId);
      if (first && queue.delete(first) && queue.size > 0) queues.set(tenantId, queue);
      count(tenantId, 1);
      return first?.admit();
    }
  };
  const leave = (tenantId: string): void => {
    count(tenantId, -1);
    admitNext();
  };
  /** @param limit undefined: whatever was begun is finished, however long it takes */
  const wait = (tenantId: string, limit?: number): Promise<void> => {
    const queue = queues.get(tenantId) ?? new Set<Waiting>();
    if (limit !== undefined && queue.size >= MOST_WAITING) throw tooMany();
    queues.set(tenantId, queue);
    return new Promise((resolve, reject) => {
      const place: Waiting = {
        admit() {
          clearTimeout(timer);
          resolve();
        },
      };
      const giveUp = (): void => {
        queue.delete(place);
        if (queue.size === 0) queues.delete(tenantId);
        reject(tooMany());
      };
      const timer = limit === undefined ? undefined : setTimeout(giveUp, limit);
      queue.add(place);
    });
  };
  const enter = (tenantId: string, limit?: number): Promise<void> | undefined => {
    if (!hasPlace(tenantId)) return wait(tenantId, limit);
    count(tenantId, 1);
    return undefined;
  };

  return {
    async run(tenantId, work) {
      await enter(tenantId, longestWait);
      try {
        return await work(async (other) => {
          leave(tenantId);
          return other().finally(() => enter(tenantId));
        });
      } finally {
        leave(tenantId);
      }
    },
  };
}

const tooMany = (): Problem =>
  new Problem('dependency_unavailable', 'Too many requests of your tenant wait. Retry after the given delay.');
