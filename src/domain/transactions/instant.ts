import { Temporal } from 'temporal-polyfill';

/** An instant in milliseconds: cuts decimals, of which Temporal reads nine; a leap second is the one before. */
export function instantOf(text: string): Date {
  return new Date(Temporal.Instant.from(text.replace(/(\.\d{3})\d+/, '$1')).epochMilliseconds);
}

/** The instant, moved into the range that PostgreSQL can compare. */
export function comparableInstant(text: string): Date {
  return new Date(Math.min(Math.max(instantOf(text).getTime(), 0), Date.UTC(9999, 0)));
}
