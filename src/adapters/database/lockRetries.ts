import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { sqlState } from './databaseErrors.js';
import { withClient } from './withClient.js';

/** How long a schema change keeps trying to get its locks. */
export interface LockPatience {
  /** Lock timeout of a statement, in milliseconds. Meanwhile, requests for the table queue behind the statement. */
  readonly timeoutMs: number;
  /** Pauses between attempts, in milliseconds. In a pause, the requests run that queued behind the last attempt. */
  readonly pausesMs: readonly number[];
}

/** Seven attempts in about a minute. */
export const LOCK_PATIENCE: LockPatience = {
  timeoutMs: 2_000,
  pausesMs: [1_000, 2_000, 4_000, 8_000, 16_000, 16_000],
};

/** SQLSTATEs of a lock timeout and of a deadlock. Both allow a retry in a new transaction. */
const LOCKED = ['55P03', '40P01'];

/**
 * Repeats an attempt that did not get its lock. A second connection finds out who holds the lock.
 * @param waiting the connection on which the attempt runs
 * @param log receives the holder of the lock before each pause
 * @throws Error naming the holder after the last attempt; other errors of the attempt
 */
export async function withLockRetries(
  url: string,
  waiting: Client,
  { timeoutMs, pausesMs }: LockPatience,
  log: (message: string) => void,
  attempt: () => Promise<void>,
): Promise<void> {
  const { rows } = await waiting.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, async (observer) => {
    let holders = 'its holder is unknown';
    // A lock's holder is visible only while a statement waits for it. A query for the holder may outlast the interval.
    let isLooking = false;
    let looks = 0;
    const look = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      const seen = await holdersOf(observer, rows[0]?.pid).catch(() => undefined);
      holders = seen ?? holders;
      isLooking = false;
      // Five looks take longer than the lock timeout, so this statement waits without one: log the holder once.
      looks = seen === undefined ? 0 : looks + 1;
      if (looks === 5) log(`waits: ${holders}.`);
    };
    const looking = setInterval(() => void look(), timeoutMs / 4);
    try {
      for (const pauseMs of [...pausesMs, undefined]) {
        looks = 0;
        try {
          return await attempt();
        } catch (error) {
          if (!LOCKED.includes(sqlState(error) ?? '')) throw error;
          const attempts = pausesMs.length + 1;
          const advice = 'End that transaction or wait for it, then run the command again.';
          if (pauseMs === undefined) {
            throw new Error(`it got no lock in ${attempts} attempts: ${holders}. ${advice}`, { cause: error });
          }
        }
        log(`waits for a lock: ${holders}. Next attempt in ${pauseMs / 1_000} s.`);
        await delay(pauseMs);
      }
    } finally {
      clearInterval(looking);
    }
  });
}

/** Describes the sessions that block a process, as far as the role may see them, without queries (health data). */
async function holdersOf(observer: Client, pid: number | undefined): Promise<string | undefined> {
  const { rows } = await observer.query<{ holders: string | null }>(
    `SELECT string_agg(format('process %s (%s) holds %s on %s', holder.pid,
        concat_ws(', ', coalesce(nullif(application_name, ''), backend_type, 'unnamed'), state,
          'in a transaction for ' || extract(epoch FROM now() - xact_start)::int || ' s'),
        coalesce((SELECT string_agg(DISTINCT mode, ', ') FROM pg_locks
          WHERE pid = holder.pid AND granted AND relation = wanted.relation), 'a lock'),
        coalesce(wanted.relation::regclass::text,
          CASE wanted.locktype WHEN 'virtualxid' THEN 'its snapshot' ELSE 'a row' END)), '; ' ORDER BY xact_start) AS holders
      FROM pg_locks wanted JOIN pg_stat_activity holder ON holder.pid = ANY (pg_blocking_pids(wanted.pid))
      WHERE wanted.pid = $1 AND NOT wanted.granted`,
    [pid],
  );
  return rows[0]?.holders ?? undefined;
}
