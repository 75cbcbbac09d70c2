import { Temporal } from 'temporal-polyfill';

/** An instant in milliseconds: cuts decimals, of which Temporal reads nine; a leap second is the one before. */
export function instantOf(text: string): Date {
  return new Date(Temporal.Instant.from(text.replace(/(\.\d{3})\d+/, '$1')).epochMilliseconds);
}

/** The instant, moved into the range that PostgreSQL can compare. */
export function comparableInstant(text: string): Date {
  return new Date(Math.min(Math.max(instantOf(text).getTime(), 0), Date.UTC(9999, 0)));
}

/** The date in a time zone, `2026-11-20`. Offsets are whole quarters of an hour, so it changes only with those. */
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

/** The last one of each zone, because Temporal needs as much time for it as a statement. */
const dates = new Map<string, { readonly quarter: number; readonly date: string }>();

/** Whole years from the birth date to the present day in the zone; someone born on 29 February ages on 1 March (D-251). */
export function ageOn(now: Date, dateOfBirth: string, timeZone: string): number {
  const today = localDate(now, timeZone);
  const years = Number(today.slice(0, 4)) - Number(dateOfBirth.slice(0, 4));
  return today.slice(5) < dateOfBirth.slice(5) ? years - 1 : years;
}
