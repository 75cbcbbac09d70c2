const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** Milliseconds that a receiver has to respond. */
export const ATTEMPT_TIMEOUT = 15 * SECOND;
/** Milliseconds before each retry. */
const delays = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)];
/** Of a delay, at most, to either side: receivers that were down are not met by everything at once. */
const SPREAD = 0.2;
/** What a receiver asks for is honoured up to this. */
const LONGEST_WISH = 24 * HOUR;

/**
 * When a delivery is tried again; null = no more. What a receiver asks for makes it later, never earlier: the
 * retries of four days would be used up within minutes.
 * @param failures in a row, this one included
 * @param wish of the receiver, in milliseconds from now
 * @param random from 0 to 1
 */
export function nextAttempt(failures: number, now: Date, wish: number, random: number): Date | null {
  const delay = delays[failures - 1];
  if (delay === undefined) return null;
  const spread = delay * (1 + SPREAD * (2 * random - 1));
  return new Date(now.getTime() + Math.max(spread, Math.min(wish, LONGEST_WISH)));
}

/**
 * Milliseconds that a receiver wants to be left alone; 0 or less = it does not say.
 * @param retryAfter seconds, or a date of HTTP (RFC 9110 §10.2.3)
 * @param realNow also in a sandbox: receivers know no other time
 */
export function wishOf(retryAfter: string | null, realNow: Date): number {
  if (retryAfter === null) return 0;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * SECOND;
  return (Date.parse(retryAfter) || 0) - realNow.getTime();
}
