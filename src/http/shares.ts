import type { Caller, Context } from '../context.js';
import { Problem } from '../problem.js';

/** Of one tenant: what waits for longer has timed out at its caller before it is served. */
const MAX_WAITING = 200;
/** Milliseconds; as long as a connection may take (`openDatabase`). */
const LONGEST_WAIT = 5_000;

/** Of one tenant: its share, and what admits those who wait. */
interface Queue {
  readonly share: number;
  readonly waiting: Set<() => void>;
}

/**
 * A place is one request that uses the database. A live tenant has half of them at most and a sandbox an eighth,
 * so that others always find one soon; what it asks for beyond that waits in its own queue, served in turn.
 * @param places as many as there are connections
 */
export function openShares(places: number, longestWait = LONGEST_WAIT) {
  const shares = { live: Math.max(1, Math.floor(places / 2)), sandbox: Math.max(1, Math.floor(places / 8)) };
  const busy = new Map<string, number>();
  /** In the order of their turns. */
  const queues = new Map<string, Queue>();
  let free = places;

  const count = (tenantId: string, change: 1 | -1): void => {
    const running = (busy.get(tenantId) ?? 0) + change;
    if (running === 0) busy.delete(tenantId);
    else busy.set(tenantId, running);
    free -= change;
  };
  const hasPlace = (tenantId: string, share: number): boolean => free > 0 && (busy.get(tenantId) ?? 0) < share;
  const admitNext = (): void => {
    for (const [tenantId, queue] of queues) {
      if (!hasPlace(tenantId, queue.share)) continue;
      const [first] = queue.waiting;
      queues.delete(tenantId);
      if (first && queue.waiting.delete(first) && queue.waiting.size > 0) queues.set(tenantId, queue);
      count(tenantId, 1);
      return first?.();
    }
  };
  const leave = (tenantId: string): void => {
    count(tenantId, -1);
    admitNext();
  };
  /** @param limit undefined: whatever was begun is finished, however long it takes */
  const wait = (tenantId: string, share: number, limit?: number): Promise<void> => {
    const queue = queues.get(tenantId) ?? { share, waiting: new Set() };
    const { waiting } = queue;
    if (limit !== undefined && waiting.size >= MAX_WAITING) throw tooMany();
    queues.set(tenantId, queue);
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(admit);
        if (waiting.size === 0) queues.delete(tenantId);
        reject(tooMany());
      };
      const timer = limit === undefined ? undefined : setTimeout(giveUp, limit);
      waiting.add(admit);
    });
  };
  const enter = (tenantId: string, share: number, limit?: number): Promise<void> | undefined => {
    if (!hasPlace(tenantId, share)) return wait(tenantId, share, limit);
    count(tenantId, 1);
    return undefined;
  };

  return {
    /**
     * Runs the work when its tenant has a place.
     * @throws Problem dependency_unavailable when too many wait already, or when it has waited too long
     */
    async run<T>(
      { tenantId, tenantMode }: Pick<Caller, 'tenantId' | 'tenantMode'>,
      work: (aside: Context['aside']) => Promise<T>,
    ): Promise<T> {
      const share = shares[tenantMode];
      await enter(tenantId, share, longestWait);
      try {
        return await work(async (other) => {
          leave(tenantId);
          return other().finally(() => enter(tenantId, share));
        });
      } finally {
        leave(tenantId);
      }
    },
  };
}

const tooMany = (): Problem =>
  new Problem('dependency_unavailable', 'Too many requests of your tenant wait. Retry after the given delay.');
