import type { ServerResponse } from 'node:http';
import type { Caller, Context } from '../../context.js';
import { Problem } from '../../problem.js';

/** Maximum of one tenant's queued requests: in longer queues, the callers' timeouts would pass. */
const MAX_WAITING = 200;
/** Maximum wait in milliseconds, equal to that for a database connection (`openDatabase`). */
const MAX_WAIT = 5_000;

/** A queue: a function per request that admits it. */
interface Queue {
  readonly maxRunning: number;
  readonly waiting: Set<() => void>;
}

type Work<T> = (withoutSlot: Context['withoutSlot']) => Promise<T>;

/** Largest `limit` of a small page: the contract's default. */
const MAX_SMALL_PAGE = 20;

/** Whether a request with this query is for a large page of a list. */
export const isLargePage = (query: { readonly limit?: number }): boolean => (query.limit ?? 0) > MAX_SMALL_PAGE;

/**
 * Limits how many requests of one tenant use the database at the same time. A live tenant may hold half of the
 * slots and a sandbox an eighth, so that other tenants soon find a free one, and each one more for a large page, which
 * keeps the only thread busy for milliseconds. Further requests wait in their queue; the queues take turns.
 * @param slots maximum of requests of all tenants: the number of database connections
 */
export function openTenantLimiter(slots: number, maxWait = MAX_WAIT) {
  const limits = { live: Math.max(1, Math.floor(slots / 2)), sandbox: Math.max(1, Math.floor(slots / 8)) };
  /** Requests that run, by the key of their queue: the tenant, or its large pages. */
  const running = countByTenant();
  /** The queues, in the order of their turns. */
  const queues = new Map<string, Queue>();
  let free = slots;

  const count = (key: string, change: 1 | -1): void => {
    running.add(key, change);
    free -= change;
  };
  const hasSlot = (key: string, maxRunning: number): boolean => free > 0 && running.of(key) < maxRunning;
  const admitNext = (): void => {
    for (const [key, queue] of queues) {
      if (!hasSlot(key, queue.maxRunning)) continue;
      const [first] = queue.waiting;
      queues.delete(key);
      if (first && queue.waiting.delete(first) && queue.waiting.size > 0) queues.set(key, queue);
      count(key, 1);
      return first?.();
    }
  };
  const leave = (key: string): void => {
    count(key, -1);
    admitNext();
  };
  /** Waits for a slot. @param limit milliseconds; undefined for a request that has begun and must finish */
  const wait = (key: string, maxRunning: number, limit?: number): Promise<void> => {
    const queue = queues.get(key) ?? { maxRunning, waiting: new Set() };
    const { waiting } = queue;
    if (limit !== undefined && waiting.size >= MAX_WAITING) throw tooMany();
    queues.set(key, queue);
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(admit);
        if (waiting.size === 0) queues.delete(key);
        reject(tooMany());
      };
      const timer = limit === undefined ? undefined : setTimeout(giveUp, limit);
      waiting.add(admit);
    });
  };
  const enter = (key: string, maxRunning: number, limit?: number): Promise<void> | undefined => {
    if (!hasSlot(key, maxRunning)) return wait(key, maxRunning, limit);
    count(key, 1);
    return undefined;
  };

  const runIn = async <T>(key: string, maxRunning: number, work: Work<T>): Promise<T> => {
    await enter(key, maxRunning, maxWait);
    try {
      return await work(async (longWork) => {
        leave(key);
        try {
          return await longWork();
        } finally {
          await enter(key, maxRunning);
        }
      });
    } finally {
      leave(key);
    }
  };

  return {
    /** Runs work in a slot. @throws TenantOverload if the tenant's queue is full or the wait too long */
    run: <T>({ tenantId, tenantMode }: Pick<Caller, 'tenantId' | 'tenantMode'>, work: Work<T>): Promise<T> =>
      runIn(tenantId, limits[tenantMode], work),
    /** Runs work for a large page, as {@link run}. */
    runPage: <T>({ tenantId }: Pick<Caller, 'tenantId'>, work: Work<T>): Promise<T> =>
      runIn(`${tenantId} pages`, 1, work),
  };
}

/** A refusal because of load, mostly of the tenant itself, not because of a failure of the service. */
export class TenantOverload extends Problem {
  constructor(detail: string) {
    super('dependency_unavailable', detail);
  }
}

const tooMany = (): Problem =>
  new TenantOverload(
    'Too many requests of your tenant are waiting, or this one waited too long. Retry after the seconds in Retry-After.',
  );

/** Maximum bytes of one tenant's unread responses; the largest response has about 3 MB. */
const MAX_UNREAD = 32 * 1024 ** 2;
/** Responses of fewer bytes are not counted: the operating system buffers them at once. */
const MIN_COUNTED = 16 * 1024;

/** Limits the memory for responses that a tenant reads slowly, without affecting other tenants. */
export function unreadResponses() {
  const unread = countByTenant();
  return {
    /** Refuses a request while the tenant has too many unread bytes. @throws TenantOverload */
    requireRoom(tenantId: string): void {
      if (unread.of(tenantId) <= MAX_UNREAD) return;
      throw new TenantOverload('Your tenant has too many unread responses. Read them before you send more requests.');
    },
    /** Counts a response until it is sent or its connection closes. */
    count(tenantId: string, bytes: number, res: ServerResponse): void {
      if (bytes < MIN_COUNTED || res.destroyed) return;
      unread.add(tenantId, bytes);
      res.once('close', () => unread.add(tenantId, -bytes));
    },
  };
}

/** Creates a counter per tenant. Zero counts are deleted, so that inactive tenants take no memory. */
export function countByTenant() {
  const counts = new Map<string, number>();
  const of = (tenantId: string): number => counts.get(tenantId) ?? 0;
  const add = (tenantId: string, change: number): number => {
    const count = of(tenantId) + change;
    if (count === 0) counts.delete(tenantId);
    else counts.set(tenantId, count);
    return count;
  };
  return { of, add };
}
