import { Temporal } from 'temporal-polyfill';

/**
 * The moment that a text of the contract's DateTime names, cut off to milliseconds; a leap second is the second before
 * it. Temporal reads at most nine decimal places.
 */
export function instantOf(text: string): Date {
  return new Date(Temporal.Instant.from(text.replace(/(\.\d{3})\d+/, '$1')).epochMilliseconds);
}

/** The same within what PostgreSQL can compare. */
export function comparableInstant(text: string): Date {
  return new Date(Math.min(Math.max(instantOf(text).getTime(), 0), Date.UTC(9999, 0)));
}
