import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from './databaseErrors.js';
import type { Database } from './database.js';

/** Runs work that only reads, on the primary or a standby. */
export interface Reads {
  /** Runs work on a database that has every change committed before the call (D-323). */
  run<T>(work: (db: Database) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Milliseconds for which a standby is not used after it failed, or after it had not caught up. */
const AFTER_FAILURE_MS = 10_000;
const AFTER_LAG_MS = 500;
/** Number of times, and milliseconds in between, that a standby is asked whether it has caught up. */
const QUESTIONS = 5;
const QUESTION_MS = 2;

/** Reads from the primary only. */
export const readsOfPrimary = (primary: Database): Reads => ({
  run: (work) => work(primary),
  close: async () => undefined,
});

/** Reads from the standby if it has caught up with the primary; reads from the primary if it has not, or fails. */
export function readsOfStandby(primary: Database, standby: Database, onFailure: (error: unknown) => void): Reads {
  let pausedUntil = 0;
  const pause = (ms: number): void => void (pausedUntil = performance.now() + ms);
  const failed = (error: unknown): void => {
    const isNew = performance.now() >= pausedUntil;
    pause(AFTER_FAILURE_MS);
    if (isNew) onFailure(error);
  };

  /** Whether the standby has all changes of the primary. The query gives null on a server that is no standby. */
  const isCurrent = async (): Promise<boolean> => {
    if (performance.now() < pausedUntil) return false;
    const [row] = await primary.everyTenant.rows<{ position: string }>`
      SELECT pg_current_wal_flush_lsn()::text AS position`;
    try {
      for (let asked = 0; asked < QUESTIONS; asked += 1) {
        if (asked > 0) await delay(QUESTION_MS);
        const [replayed] = await standby.everyTenant.rows<{ isCurrent: boolean | null }>`
          SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= ${row?.position}::pg_lsn AS "isCurrent"`;
        if (replayed?.isCurrent) return true;
      }
      pause(AFTER_LAG_MS);
    } catch (error) {
      failed(error);
    }
    return false;
  };
  return {
    async run(work) {
      if (!(await isCurrent())) return work(primary);
      return work(standby).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
        failed(error);
        return work(primary);
      });
    },
    close: () => standby.close(),
  };
}
