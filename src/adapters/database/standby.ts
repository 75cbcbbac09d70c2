import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from './databaseErrors.js';
import type { Database } from './database.js';

/** Runs work that only reads. */
export interface Reads {
  /** Runs it on a database that has every change that was committed before the call (D-323). */
  run<T>(work: (db: Database) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Milliseconds without a standby after it failed, and after it was behind. */
const AFTER_FAILURE_MS = 10_000;
const AFTER_LAG_MS = 500;
/** How often, and how many milliseconds apart, a standby is asked whether it has caught up. */
const QUESTIONS = 5;
const QUESTION_MS = 2;

/** Reads from the primary only. */
export const readsOfPrimary = (primary: Database): Reads => ({
  run: (work) => work(primary),
  close: async () => undefined,
});

/** Reads from the standby while it has the primary's changes, and otherwise, or if it fails, from the primary. */
export function readsOfStandby(primary: Database, standby: Database, onFailure: (error: unknown) => void): Reads {
  let pausedUntil = 0;
  const pause = (ms: number): void => void (pausedUntil = performance.now() + ms);
  const failed = (error: unknown): void => {
    const isNew = performance.now() >= pausedUntil;
    pause(AFTER_FAILURE_MS);
    if (isNew) onFailure(error);
  };

  /** A server that is not a standby, or never was one, says null. */
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
