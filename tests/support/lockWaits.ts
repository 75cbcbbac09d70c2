import { setTimeout as delay } from 'node:timers/promises';
import type { Prisma } from '../../generated/prisma/client.js';
import type { Harness } from './harness.js';
import type { Models } from '../../src/adapters/database/database.js';

type Owner = Pick<Harness, 'domain'>;

/** Waits until this many sessions of the database wait for a lock, or until the work is done without waiting. */
export async function untilBlocked({ domain }: Owner, sessions = 1, isDone = () => false): Promise<void> {
  // An endless wait would make the runner kill the test file before its clean-up.
  const deadline = Date.now() + 20_000;
  while (!isDone() && Date.now() < deadline) {
    const waiting = await domain.db.prisma.$queryRaw<object[]>`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const isCluster = process.env['TEST_CITUS'] !== undefined;
    const onWorkers = isCluster ? await domain.db.prisma.$queryRaw<object[]>`SELECT FROM citus_lock_waits` : [];
    if (waiting.length + onWorkers.length >= sessions) return;
    await delay(5);
  }
  if (!isDone()) throw new Error(`Fewer than ${sessions} sessions waited for a lock within 20 s: see pg_stat_activity`);
}

/**
 * Starts the works one after the other while a transaction holds the lock, each when the one before waits. When all wait,
 * the transaction does `meanwhile` and commits; the works then get the lock in this order.
 * @returns the results of the works
 * @throws Error if a work does not wait
 */
export async function inTurn<const Works extends readonly (() => Promise<unknown>)[]>(
  owner: Owner,
  lock: Prisma.Sql,
  works: Works,
  meanwhile: (holder: Models, waiting: readonly Promise<unknown>[]) => Promise<unknown> = async () => undefined,
): Promise<{ [Place in keyof Works]: Awaited<ReturnType<Works[Place]>> }> {
  let isDone = false;
  const waiting: Promise<unknown>[] = [];
  await owner.domain.db.prisma.$transaction(
    async (holder) => {
      await holder.$executeRaw(lock);
      for (const work of works) {
        const working = work().finally(() => (isDone = true));
        // Awaited only if the transaction succeeds.
        working.catch(() => undefined);
        waiting.push(working);
        await untilBlocked(owner, waiting.length, () => isDone);
        if (isDone)
          throw new Error(
            'A work ended while the lock was held: correct it if it failed, or pass a lock that it needs',
          );
      }
      await meanwhile(holder, waiting);
    },
    { timeout: 20_000 },
  );
  return Promise.all(waiting) as ReturnType<typeof inTurn<Works>>;
}

/** {@link inTurn} for one work. */
export async function whileBlocked<T>(
  owner: Owner,
  lock: Prisma.Sql,
  work: () => Promise<T>,
  meanwhile: (holder: Models) => Promise<unknown>,
): Promise<T> {
  const [result] = await inTurn(owner, lock, [work], meanwhile);
  return result;
}
