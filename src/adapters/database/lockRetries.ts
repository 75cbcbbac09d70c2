import { setTimeout as delay } from 'node:timers/promises';
import { sqlState } from './databaseErrors.js';

/** How long a schema change keeps trying to get its locks. */
export interface LockPatience {
  /** Lock timeout of a statement, in milliseconds. Meanwhile, requests for the table queue behind the statement. */
  readonly timeoutMs: number;
  /** Pauses between attempts, in milliseconds. Requests that queued behind an attempt run in the pause after it. */
  readonly pausesMs: readonly number[];
}

/** Seven attempts in about a minute. */
export const LOCK_PATIENCE: LockPatience = {
  timeoutMs: 2_000,
  pausesMs: [1_000, 2_000, 4_000, 8_000, 16_000, 16_000],
};

/** How to go on after a failed migration: a failed restore leaves rows. */
export const REPEAT = ', then repeat the command or start; a restore, into an empty database.';

/** SQLSTATEs of a lock timeout and of a deadlock. Both allow a retry in a new transaction. */
const LOCKED = ['55P03', '40P01'];

/**
 * Repeats an attempt that did not get its lock. @param log receives a message before each pause
 * @throws Error after the last attempt; other errors of the attempt
 */
export async function withLockRetries(
  { pausesMs }: LockPatience,
  log: (message: string) => void,
  attempt: () => Promise<void>,
): Promise<void> {
  for (const pauseMs of [...pausesMs, undefined]) {
    try {
      return await attempt();
    } catch (error) {
      if (!LOCKED.includes(sqlState(error) ?? '')) throw error;
      if (pauseMs === undefined) {
        const advice =
          'End the transaction that holds the lock (see scripts/production/upgrade.md), or wait for its end';
        throw new Error(`it got no lock in ${pausesMs.length + 1} attempts. ${advice}${REPEAT}`, { cause: error });
      }
    }
    log(`waits for a lock. Next attempt in ${pauseMs / 1_000} s.`);
    await delay(pauseMs);
  }
}
