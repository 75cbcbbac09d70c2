import { Temporal } from 'temporal-polyfill';

/** Reads an instant, cut to milliseconds: Temporal reads only nine decimals. A leap second is read as the one before. */
export function instantOf(text: string): Date {
  return new Date(Temporal.Instant.from(text.replace(/(\.\d{3})\d+/, '$1')).epochMilliseconds);
}

/** Reads an instant, limited to 1970 through the start of 9999: PostgreSQL can read its text. */
export function comparableInstant(text: string): Date {
  return new Date(Math.min(Math.max(instantOf(text).getTime(), 0), Date.UTC(9999, 0)));
}

/** The date in a time zone (`2026-11-20`). Offsets are whole quarters of an hour, so it changes only at a quarter. */
export function localDate(now: Date, timeZone: string): string {
  const quarter = Math.floor(now.getTime() / 900_000);
  const known = dates.get(timeZone);
  if (known?.quarter === quarter) return known.date;
  const date = Temporal.Instant.fromEpochMilliseconds(now.getTime())
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
    .toString();
  dates.set(timeZone, { quarter, date });
  return date;
}

/** Cache of the last date in each zone: computing one takes Temporal as long as a statement takes PostgreSQL. */
const dates = new Map<string, { readonly quarter: number; readonly date: string }>();

/** Age in whole years today in the zone; someone born on February 29 ages on March 1 in other years. */
export function ageOn(now: Date, dateOfBirth: string, timeZone: string): number {
  const today = localDate(now, timeZone);
  const years = Number(today.slice(0, 4)) - Number(dateOfBirth.slice(0, 4));
  return today.slice(5) < dateOfBirth.slice(5) ? years - 1 : years;
}
