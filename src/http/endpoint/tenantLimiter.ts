import type { Caller, Context } from '../../context.js';
import { Problem } from '../../problem.js';

/** Requests of one tenant; longer queues outlast the callers' timeouts. */
const MAX_WAITING = 200;
/** Milliseconds; as long as a request waits for a connection (`openDatabase`). */
const MAX_WAIT = 5_000;

/** The requests of one tenant that wait for a slot, by the function that admits each. */
interface Queue {
  readonly maxRunning: number;
  readonly waiting: Set<() => void>;
}

/**
 * Limits how many requests of one tenant use the database at the same time. A live tenant may hold half of the
 * slots and a sandbox an eighth, so that other tenants soon find a free one. Further requests wait in a queue of their
 * tenant; the queues take turns.
 * @param slots requests of all tenants, as many as there are connections
 */
export function openTenantLimiter(slots: number, maxWait = MAX_WAIT) {
  const limits = { live: Math.max(1, Math.floor(slots / 2)), sandbox: Math.max(1, Math.floor(slots / 8)) };
  const running = new Map<string, number>();
  /** In the order of their turns. */
  const queues = new Map<string, Queue>();
  let free = slots;

  const count = (tenantId: string, change: 1 | -1): void => {
    const ofTenant = (running.get(tenantId) ?? 0) + change;
    if (ofTenant === 0) running.delete(tenantId);
    else running.set(tenantId, ofTenant);
    free -= change;
  };
  const hasSlot = (tenantId: string, maxRunning: number): boolean =>
    free > 0 && (running.get(tenantId) ?? 0) < maxRunning;
  const admitNext = (): void => {
    for (const [tenantId, queue] of queues) {
      if (!hasSlot(tenantId, queue.maxRunning)) continue;
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
  /** @param limit milliseconds; undefined for a request that has begun, which must finish */
  const wait = (tenantId: string, maxRunning: number, limit?: number): Promise<void> => {
    const queue = queues.get(tenantId) ?? { maxRunning, waiting: new Set() };
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
  const enter = (tenantId: string, maxRunning: number, limit?: number): Promise<void> | undefined => {
    if (!hasSlot(tenantId, maxRunning)) return wait(tenantId, maxRunning, limit);
    count(tenantId, 1);
    return undefined;
  };

  return {
    /**
     * Runs the work when its tenant has a free slot.
     * @throws Problem dependency_unavailable when the queue of the tenant is full, or the wait was too long
     */
    async run<T>(
      { tenantId, tenantMode }: Pick<Caller, 'tenantId' | 'tenantMode'>,
      work: (withoutSlot: Context['withoutSlot']) => Promise<T>,
    ): Promise<T> {
      const maxRunning = limits[tenantMode];
      await enter(tenantId, maxRunning, maxWait);
      try {
        return await work(async (other) => {
          leave(tenantId);
          return other().finally(() => enter(tenantId, maxRunning));
        });
      } finally {
        leave(tenantId);
      }
    },
  };
}

const tooMany = (): Problem =>
  new Problem('dependency_unavailable', 'Too many requests of your tenant wait. Retry after the given delay.');
