import { setTimeout as delay } from 'node:timers/promises';

/** Whether the work ends in so many milliseconds; rejects as the work does. */
export function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => true), delay(milliseconds, false, { ref: false })]);
}
