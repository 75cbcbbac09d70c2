import { setTimeout as delay } from 'node:timers/promises';

/** Whether the work ends in time. The process stays alive while waiting. Rejects if the work does. */
export async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = delay(milliseconds, false, { signal: timer.signal }).catch(() => false);
  return Promise.race([work.then(() => true), late]).finally(() => timer.abort());
}
