const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** Timeout of an attempt in milliseconds. */
export const ATTEMPT_TIMEOUT = 15 * SECOND;
/** Milliseconds before each retry of a delivery. */
const delays = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)];
/** Delays vary by up to this fraction, so that retries do not flood a receiver that has just recovered. */
const SPREAD = 0.2;
/** Maximum Retry-After that is followed, in milliseconds. */
const LONGEST_WISH = 24 * HOUR;

/**
 * The time of the next attempt; null after the last. Retry-After can only delay it: an earlier time would let a
 * receiver use up all retries at once.
 * @param failures in a row. @param wish Retry-After in milliseconds. @param random from 0 to 1
 */
export function nextAttempt(failures: number, now: Date, wish: number, random: number): Date | null {
  const delay = delays[failures - 1];
  if (delay === undefined) return null;
  const spread = delay * (1 + SPREAD * (2 * random - 1));
  return new Date(now.getTime() + Math.max(spread, Math.min(wish, LONGEST_WISH)));
}

/** Milliseconds until Retry-After (RFC 9110 §10.2.3: seconds or a date); 0 or less if it is absent, invalid or past. */
export function wishOf(retryAfter: string | null, realNow: Date): number {
  if (retryAfter === null) return 0;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * SECOND;
  return (Date.parse(retryAfter) || 0) - realNow.getTime();
}
