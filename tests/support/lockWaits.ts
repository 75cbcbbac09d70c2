import { setTimeout as delay } from 'node:timers/promises';
import type { Prisma } from '../../generated/prisma/client.js';
import type { Harness } from './harness.js';
import type { Models } from '../../src/adapters/database/database.js';

type Owner = Pick<Harness, 'domain'>;

/** Waits until this many sessions of the database wait for a lock, or until the work is done without waiting. */
export async function untilBlocked({ domain }: Owner, sessions = 1, isDone = () => false): Promise<void> {
  // Ends before jest's timeout, so that the test can clean up.
  const deadline = Date.now() + 20_000;
  while (!isDone() && Date.now() < deadline) {
    const waiting = await domain.db.prisma.$queryRaw<object[]>`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const isCluster = process.env['TEST_CITUS'] !== undefined;
    const onWorkers = isCluster ? await domain.db.prisma.$queryRaw<object[]>`SELECT FROM citus_lock_waits` : [];
    if (waiting.length + onWorkers.length >= sessions) return;
    await delay(5);
  }
  if (!isDone()) throw new Error(`fewer than ${sessions} sessions wait for a lock`);
}

/**
 * Starts the work while a transaction holds the lock. When the work waits, the transaction does `meanwhile` and commits.
 * @returns the result of the work
 * @throws Error if the work does not wait for the lock
 */
export async function whileBlocked<T>(
  owner: Owner,
  lock: Prisma.Sql,
  work: () => Promise<T>,
  meanwhile: (holder: Models) => Promise<unknown>,
): Promise<T> {
  let isDone = false;
  const working = await owner.domain.db.prisma.$transaction(
    async (holder) => {
      await holder.$executeRaw(lock);
      const result = work().finally(() => (isDone = true));
      await untilBlocked(owner, 1, () => isDone);
      if (isDone) throw new Error('the work did not wait for the lock');
      await meanwhile(holder);
      return { result };
    },
    { timeout: 20_000 },
  );
  return working.result;
}
