import { InvalidArgumentError } from '@commander-js/extra-typings';

/** The numbers of days, weeks and months whose last backup is kept. */
export type Keep = readonly (readonly [unit: Unit, count: number])[];

type Unit = keyof typeof periods;

const DAY_MS = 86_400_000;
/** The day, the week (from Monday) and the month of a time, all in UTC. */
const periods = {
  d: (time: Date) => time.toISOString().slice(0, 10),
  // Weeks begin on Monday, and 1970-01-01 was a Thursday, three days later.
  w: (time: Date) => String(Math.floor((time.getTime() / DAY_MS + 3) / 7)),
  m: (time: Date) => time.toISOString().slice(0, 7),
};

/** Parses a text such as `7d,4w,6m`. */
export function keepOf(text: string): Keep {
  const parts = text.split(',').map((part) => /^([1-9]\d{0,2})([dwm])$/.exec(part));
  if (parts.includes(null))
    throw new InvalidArgumentError('Give numbers from 1 to 999 with d, w or m, such as 7d,4w,6m.');
  return parts.map((part) => [part?.[2] as Unit, Number(part?.[1])]);
}

/** The times to keep: the last one in each of the latest days, weeks and months that have a backup. */
export function keptTimes(times: readonly string[], keep: Keep): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const [unit, count] of keep) {
    const lastOf = new Map(times.toSorted().map((time) => [periods[unit](new Date(time)), time]));
    for (const time of [...lastOf.values()].slice(-count)) kept.add(time);
  }
  return kept;
}
