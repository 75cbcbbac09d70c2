import { Temporal } from 'temporal-polyfill';

/**
 * The instant of a contract DateTime, truncated to milliseconds. A leap second becomes the second before it. Decimals are cut
 * first, because Temporal reads only nine.
 */
export function instantOf(text: string): Date {
  return new Date(Temporal.Instant.from(text.replace(/(\.\d{3})\d+/, '$1')).epochMilliseconds);
}

/** The instant, moved into the range that PostgreSQL can compare. */
export function comparableInstant(text: string): Date {
  return new Date(Math.min(Math.max(instantOf(text).getTime(), 0), Date.UTC(9999, 0)));
}
