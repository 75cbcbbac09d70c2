import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import {
  checkSchedule,
  claimableFrom,
  resolveSchedule,
  type Schedule,
} from '../../../src/domain/encounters/schedule.js';
import { Problem } from '../../../src/problem.js';

/** The instant, or the code and the pointers of the problem. */
function outcomeOf(rule: () => { scheduledAt: Date | null } | undefined): unknown {
  try {
    return rule()?.scheduledAt?.toISOString() ?? null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [error.code, ...error.errors.map(({ pointer }) => pointer)];
  }
}

const resolve = (scheduledDay: string, scheduledTime: string, scheduledTimeZone: string): unknown =>
  outcomeOf(() => resolveSchedule({ scheduledDay, scheduledTime, scheduledTimeZone }, null));
const check = (schedule: Schedule): unknown => outcomeOf(() => checkSchedule(schedule) as undefined);

const skippedTime = ['schedule_time_nonexistent', '#/scheduledTime'];
const skippedDay = ['schedule_time_nonexistent', '#/scheduledDay'];

describe('resolveSchedule with a local time', () => {
  it.each([
    ['America/New_York', '2027-03-14', ['02:00:00', '02:30:00', '02:59:59']],
    ['Europe/London', '2027-03-28', ['01:00:00', '01:30:00', '01:59:59']],
    ['Australia/Lord_Howe', '2027-10-03', ['02:00:00', '02:15:00', '02:29:59']],
    ['America/Santiago', '2027-09-05', ['00:00:00', '00:30:00', '00:59:59']],
  ])('rejects the times that the clocks of %s skip on %s', (zone, day, times) => {
    for (const time of times) expect(resolve(day, time, zone)).toEqual(skippedTime);
  });

  it.each([
    ['before the skipped times', 'America/New_York', '2027-03-14', '01:59:59', '2027-03-14T06:59:59.000Z'],
    ['after the skipped times', 'America/New_York', '2027-03-14', '03:00:00', '2027-03-14T07:00:00.000Z'],
    ['before the skipped times', 'Europe/London', '2027-03-28', '00:59:59', '2027-03-28T00:59:59.000Z'],
    ['after the skipped times', 'Europe/London', '2027-03-28', '02:00:00', '2027-03-28T01:00:00.000Z'],
    ['before a skipped half hour', 'Australia/Lord_Howe', '2027-10-03', '01:59:59', '2027-10-02T15:29:59.000Z'],
    ['after a skipped half hour', 'Australia/Lord_Howe', '2027-10-03', '02:30:00', '2027-10-02T15:30:00.000Z'],
    ['after a skipped midnight', 'America/Santiago', '2027-09-05', '01:00:00', '2027-09-05T04:00:00.000Z'],
    ['that occurs twice', 'America/New_York', '2027-11-07', '01:30:00', '2027-11-07T05:30:00.000Z'],
    ['that is the first to occur twice', 'America/New_York', '2027-11-07', '01:00:00', '2027-11-07T05:00:00.000Z'],
    ['that is the last to occur twice', 'America/New_York', '2027-11-07', '01:59:59', '2027-11-07T05:59:59.000Z'],
    ['after those that occur twice', 'America/New_York', '2027-11-07', '02:00:00', '2027-11-07T07:00:00.000Z'],
    ['that occurs twice', 'Europe/London', '2027-10-31', '01:30:00', '2027-10-31T00:30:00.000Z'],
    ['that occurs twice in negative DST', 'Europe/Dublin', '2027-10-31', '01:30:00', '2027-10-31T00:30:00.000Z'],
    ['that occurs twice', 'Australia/Lord_Howe', '2027-04-04', '01:45:00', '2027-04-03T14:45:00.000Z'],
    ['before the skipped day', 'Pacific/Apia', '2011-12-29', '23:59:59', '2011-12-30T09:59:59.000Z'],
    ['after the skipped day', 'Pacific/Apia', '2011-12-31', '00:00:00', '2011-12-30T10:00:00.000Z'],
    ['in a legacy zone', 'US/Pacific', '2027-07-01', '12:00:00', '2027-07-01T19:00:00.000Z'],
    ['in a legacy zone', 'EST', '2027-07-01', '12:00:00', '2027-07-01T17:00:00.000Z'],
    ['in a legacy zone', 'EST5EDT', '2027-07-01', '12:00:00', '2027-07-01T16:00:00.000Z'],
    ['in a renamed zone', 'Asia/Calcutta', '2027-07-01', '12:00:00', '2027-07-01T06:30:00.000Z'],
    ['in a zone with quarter hours', 'Asia/Kathmandu', '2027-07-01', '12:00:00', '2027-07-01T06:15:00.000Z'],
    ['in UTC', 'UTC', '2027-07-01', '12:00:00', '2027-07-01T12:00:00.000Z'],
    ['in a fixed zone', 'Etc/GMT+5', '2027-07-01', '12:00:00', '2027-07-01T17:00:00.000Z'],
    ['in the earliest zone', 'Pacific/Kiritimati', '2027-07-01', '12:00:00', '2027-06-30T22:00:00.000Z'],
  ])('resolves a time %s: %s %s %s', (_position, zone, day, time, instant) => {
    expect(resolve(day, time, zone)).toBe(instant);
  });

  it.each(['00:00:00', '12:00:00', '23:59:59'])(
    'rejects %s on the day that Samoa and Tokelau skipped, and names scheduledDay in the error',
    (time) => {
      expect(resolve('2011-12-30', time, 'Pacific/Apia')).toEqual(skippedDay);
      expect(resolve('2011-12-30', time, 'Pacific/Fakaofo')).toEqual(skippedDay);
    },
  );
});

describe('checkSchedule with a time zone', () => {
  const checkZone = (zone: string): unknown => check({ scheduledDay: '2027-07-01', scheduledTimeZone: zone });

  it.each(
    [
      '+05:30|-04:00|+0530|Z|z|GMT+5|UTC+5|UTC+05:30|GMT-05:00|PST|CST|IST|AST|local||５|../zoneinfo/UTC',
      'America/Nowhere|America/New York| America/New_York|America/New_York |America//New_York|/America/New_York',
      'America/Argentina/Buenos_Aires/x|[America/New_York]|America/New_York[u-ca=hebrew]',
    ].flatMap((line) => line.split('|')),
  )('rejects %j', (zone) => {
    expect(checkZone(zone)).toEqual(['schedule_time_zone_unknown', '#/scheduledTimeZone']);
  });

  it('accepts names of the time-zone database in any letter case', () => {
    const zones =
      'UTC GMT GMT0 EST EST5EDT US/Pacific Etc/GMT+5 Etc/GMT-14 Asia/Calcutta Asia/Kolkata Europe/Kyiv ' +
      'America/Argentina/Buenos_Aires america/new_york';
    expect(zones.split(' ').filter((zone) => checkZone(zone) !== null)).toEqual([]);
  });

  it('accepts and resolves every zone that the runtime lists', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      expect(checkZone(zone)).toBeNull();
      expect(resolve('2027-07-01', '12:00:00', zone)).toMatch(/^2027-0(6-30|7-0[12])T/);
    }
  });
});

describe('a schedule', () => {
  const [scheduledDay, scheduledTime] = ['2027-07-01', '12:00:00'];
  const incomplete = ['schedule_incomplete', '#/scheduledTime'];
  it.each<[string, Schedule, unknown]>([
    ['a time', { scheduledTime }, incomplete],
    ['an unknown zone', { scheduledTimeZone: '+05:30' }, ['schedule_time_zone_unknown', '#/scheduledTimeZone']],
    ['a time and a zone', { scheduledTime, scheduledTimeZone: 'UTC' }, incomplete],
    [
      'a time and an unknown zone',
      { scheduledTime, scheduledTimeZone: '+05:30' },
      [...incomplete, '#/scheduledTimeZone'],
    ],
  ])(
    'is refused if it has %s without a day, and each invalid property is reported',
    (_properties, schedule, expected) => {
      expect(check(schedule)).toEqual(expected);
    },
  );

  it('that has neither day nor time has no instant, even with a time zone', () => {
    expect(check({})).toBeNull();
    expect(check({ scheduledTimeZone: 'UTC' })).toBeNull();
    expect(resolveSchedule({}, 'America/Chicago')).toMatchObject({ scheduledAt: null, dayStartsAt: null });
  });

  it.each([
    ['by the given zone', scheduledDay, 'America/New_York', 'America/Chicago', '2027-07-01T04:00:00.000Z'],
    ['by the clinic’s zone', scheduledDay, undefined, 'America/Chicago', '2027-07-01T05:00:00.000Z'],
    ['by UTC without any zone', scheduledDay, undefined, null, '2027-07-01T00:00:00.000Z'],
    ['after a skipped midnight', '2027-09-05', undefined, 'America/Santiago', '2027-09-05T04:00:00.000Z'],
  ])(
    'that has only a day has no instant, and the day starts %s',
    (_rule, day, scheduledTimeZone, clinicZone, start) => {
      const schedule = { scheduledDay: day, ...(scheduledTimeZone ? { scheduledTimeZone } : {}) };
      expect(resolveSchedule(schedule, clinicZone)).toMatchObject({ scheduledAt: null, dayStartsAt: new Date(start) });
    },
  );

  it('that has only a day is rejected if the time zone skips that day', () => {
    expect(outcomeOf(() => resolveSchedule({ scheduledDay: '2011-12-30' }, 'Pacific/Apia'))).toEqual(skippedDay);
  });

  it('that has day and time uses the time zone of the clinic by default, and is rejected without any zone', () => {
    const resolveAt = (clinicZone: string | null) =>
      outcomeOf(() => resolveSchedule({ scheduledDay, scheduledTime }, clinicZone));
    expect(resolveAt('America/Chicago')).toBe('2027-07-01T17:00:00.000Z');
    expect(resolveAt(null)).toEqual(['schedule_time_zone_required', '#/scheduledTimeZone']);
  });
});

describe('a random schedule in a random zone', () => {
  const second = 1_000;
  const anyWall = fc.record({
    zone: fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC', 'US/Pacific', 'EST', 'Etc/GMT+12'),
    wall: fc
      .integer({ min: Date.UTC(1900, 0, 2) / second, max: Date.UTC(2099, 0, 1) / second })
      .map((time) => time * second),
  });
  /** Times around a change of the clocks, which random times rarely hit. */
  const nearChange = fc.tuple(anyWall, fc.integer({ min: -26 * 60, max: 26 * 60 })).map(([{ zone, wall }, minutes]) => {
    const change = Temporal.Instant.fromEpochMilliseconds(wall).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
    if (!change) return { zone, wall };
    return { zone, wall: change.epochMilliseconds + change.offsetNanoseconds / 1e6 + minutes * 60_000 };
  });

  it('resolves to the earliest instant that the zone’s clocks show as that time, or is rejected if none does', () => {
    fc.assert(
      fc.property(fc.oneof(anyWall, nearChange, nearChange), ({ zone, wall }) => {
        const text = new Date(wall).toISOString();
        const [day, time] = [text.slice(0, 10), text.slice(11, 19)];
        const [earliest] = instantsShownAs(Date.parse(`${day}T${time}Z`), zone);
        const resolved = resolve(day, time, zone);
        if (earliest !== undefined) expect(resolved).toBe(new Date(earliest).toISOString());
        else expect([skippedTime, skippedDay]).toContainEqual(resolved);
      }),
      { numRuns: 150 },
    );
  });
});

/** All instants, in order, that a clock of the zone shows as this wall time (given as if it were UTC), by Intl alone. */
function instantsShownAs(wall: number, zone: string): number[] {
  const offsets = new Set<number>();
  for (let hours = -30; hours <= 30; hours += 1) offsets.add(offsetAt(wall + hours * 3_600_000, zone));
  return [...offsets]
    .map((offset) => wall - offset)
    .filter((instant) => instant + offsetAt(instant, zone) === wall)
    .sort((a, b) => a - b);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function offsetAt(instant: number, timeZone: string): number {
  const clock =
    clocks.get(timeZone) ?? new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  clocks.set(timeZone, clock);
  return Date.parse(`${clock.format(instant).replace(' ', 'T')}Z`) - instant;
}

describe('claimableFrom', () => {
  const createdAt = new Date('2026-11-20T16:00:00.000Z');
  const day = { scheduledDay: '2027-01-05' };
  const noon = { ...day, scheduledTime: '12:00:00' };
  const tokyo = { ...day, scheduledTimeZone: 'Asia/Tokyo' };
  it.each([
    ['at once', 'asynchronous', noon, '2026-11-20T16:00:00.000Z'],
    ['at once', 'asynchronous', day, '2026-11-20T16:00:00.000Z'],
    ['at once', 'synchronous', {}, '2026-11-20T16:00:00.000Z'],
    ['15 minutes before a live visit', 'synchronous', noon, '2027-01-05T17:45:00.000Z'],
    ['from midnight at the clinic', 'synchronous', day, '2027-01-05T06:00:00.000Z'],
    ['from midnight in the given zone', 'synchronous', tokyo, '2027-01-04T15:00:00.000Z'],
  ] as const)('allows a claim %s: %s, %j', (_rule, reviewType, schedule, from) => {
    const resolved = resolveSchedule(schedule, 'America/Chicago');
    expect(claimableFrom(reviewType, resolved, createdAt).toISOString()).toBe(from);
  });
});
