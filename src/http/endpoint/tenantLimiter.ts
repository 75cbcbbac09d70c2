import type { ServerResponse } from 'node:http';
import type { Caller, Context } from '../../context.js';
import { Problem } from '../../problem.js';

/** Maximum of one tenant's queued requests: in longer queues, the callers' timeouts would pass. */
const MAX_WAITING = 200;
/** Maximum wait in milliseconds, equal to that for a database connection (`openDatabase`). */
const MAX_WAIT = 5_000;

/** The queue of one tenant: a function per request that admits it. */
interface Queue {
  readonly maxRunning: number;
  readonly waiting: Set<() => void>;
}

/** Maximum of requests that run at the same time: of a live tenant, of a sandbox, and of all tenants. */
interface Slots {
  readonly live: number;
  readonly sandbox: number;
  readonly all: number;
}

/**
 * The slots for requests that use the database: a live tenant may hold half of them and a sandbox an eighth, so that
 * other tenants soon find a free one.
 * @param connections the number of database connections
 */
export const requestSlots = (connections: number): Slots => ({
  live: Math.max(1, Math.floor(connections / 2)),
  sandbox: Math.max(1, Math.floor(connections / 8)),
  all: connections,
});

/** The slots for large pages, which keep the only thread busy for milliseconds: each tenant has one. */
export const pageSlots: Slots = { live: 1, sandbox: 1, all: Infinity };

/** Elements of a page that is not large: the contract's default. */
const MAX_SMALL_PAGE = 20;

/** Whether a request with this query is for a large page of a list. */
export const isLargePage = (query: { readonly limit?: number }): boolean => (query.limit ?? 0) > MAX_SMALL_PAGE;

/**
 * Limits how many requests of one tenant run at the same time. Further requests wait in their tenant's queue;
 * the queues take turns.
 */
export function openTenantLimiter({ all, ...limits }: Slots, maxWait = MAX_WAIT) {
  const running = countByTenant();
  /** The queue of each waiting tenant, in the order of their turns. */
  const queues = new Map<string, Queue>();
  let free = all;

  const count = (tenantId: string, change: 1 | -1): void => {
    running.add(tenantId, change);
    free -= change;
  };
  const hasSlot = (tenantId: string, maxRunning: number): boolean => free > 0 && running.of(tenantId) < maxRunning;
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
  /** Waits for a slot. @param limit milliseconds; undefined for a request that has begun and must finish */
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
    /** Runs work in a slot. @throws TenantOverload if the tenant's queue is full or the wait too long */
    async run<T>(
      { tenantId, tenantMode }: Pick<Caller, 'tenantId' | 'tenantMode'>,
      work: (withoutSlot: Context['withoutSlot']) => Promise<T>,
    ): Promise<T> {
      const maxRunning = limits[tenantMode];
      await enter(tenantId, maxRunning, maxWait);
      try {
        return await work(async (longWork) => {
          leave(tenantId);
          try {
            return await longWork();
          } finally {
            await enter(tenantId, maxRunning);
          }
        });
      } finally {
        leave(tenantId);
      }
    },
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
