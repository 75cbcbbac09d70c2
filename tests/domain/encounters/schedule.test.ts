import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { checkSchedule, resolveSchedule, type Schedule } from '../../../src/domain/encounters/schedule.js';
import { Problem, type FieldError } from '../../../src/problem.js';

/** The instant, or the code and the pointers of the problem. */
function outcomeOf(rule: () => { scheduledAt: Date | null } | undefined): unknown {
  try {
    return rule()?.scheduledAt?.toISOString() ?? null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [error.code, ...error.errors.map(({ pointer }: FieldError) => pointer)];
  }
}

const resolve = (day: string, time: string, zone: string): unknown =>
  outcomeOf(() => resolveSchedule({ scheduledDay: day, scheduledTime: time, scheduledTimeZone: zone }, null));

const skippedTime = ['schedule_time_nonexistent', '#/scheduledTime'];
const skippedDay = ['schedule_time_nonexistent', '#/scheduledDay'];

describe('resolveSchedule with a local time', () => {
  it.each([
    [
      'New York',
      'America/New_York',
      '2027-03-14',
      '01:59:59',
      '02:00:00',
      '02:30:00',
      '02:59:59',
      '03:00:00',
      '2027-03-14T06:59:59.000Z',
      '2027-03-14T07:00:00.000Z',
    ],
    [
      'London',
      'Europe/London',
      '2027-03-28',
      '00:59:59',
      '01:00:00',
      '01:30:00',
      '01:59:59',
      '02:00:00',
      '2027-03-28T00:59:59.000Z',
      '2027-03-28T01:00:00.000Z',
    ],
    [
      'Lord Howe (half an hour)',
      'Australia/Lord_Howe',
      '2027-10-03',
      '01:59:59',
      '02:00:00',
      '02:15:00',
      '02:29:59',
      '02:30:00',
      '2027-10-02T15:29:59.000Z',
      '2027-10-02T15:30:00.000Z',
    ],
    [
      'Santiago (at midnight)',
      'America/Santiago',
      '2027-09-05',
      undefined,
      '00:00:00',
      '00:30:00',
      '00:59:59',
      '01:00:00',
      undefined,
      '2027-09-05T04:00:00.000Z',
    ],
  ])(
    'rejects the times that the clocks skip in %s, and accepts those around them',
    (_place, zone, day, last, first, middle, end, next, lastInstant, nextInstant) => {
      for (const time of [first, middle, end]) expect(resolve(day, time, zone)).toEqual(skippedTime);
      if (last !== undefined) expect(resolve(day, last, zone)).toBe(lastInstant);
      expect(resolve(day, next, zone)).toBe(nextInstant);
    },
  );

  it.each([
    ['New York', 'America/New_York', '2027-11-07', '01:30:00', '2027-11-07T05:30:00.000Z'],
    ['New York, its first second', 'America/New_York', '2027-11-07', '01:00:00', '2027-11-07T05:00:00.000Z'],
    ['New York, its last second', 'America/New_York', '2027-11-07', '01:59:59', '2027-11-07T05:59:59.000Z'],
    ['London', 'Europe/London', '2027-10-31', '01:30:00', '2027-10-31T00:30:00.000Z'],
    ['Dublin, where winter is the exception', 'Europe/Dublin', '2027-10-31', '01:30:00', '2027-10-31T00:30:00.000Z'],
    ['Lord Howe', 'Australia/Lord_Howe', '2027-04-04', '01:45:00', '2027-04-03T14:45:00.000Z'],
  ])('takes the earlier instant of a time that occurs twice in %s', (_place, zone, day, time, instant) => {
    expect(resolve(day, time, zone)).toBe(instant);
  });

  it('uses the new offset from the end of the repeated hour', () => {
    expect(resolve('2027-11-07', '02:00:00', 'America/New_York')).toBe('2027-11-07T07:00:00.000Z');
  });

  it.each(['00:00:00', '12:00:00', '23:59:59'])(
    'rejects %s on the day that Samoa skipped, with the day as the wrong property',
    (time) => {
      expect(resolve('2011-12-30', time, 'Pacific/Apia')).toEqual(skippedDay);
      expect(resolve('2011-12-30', time, 'Pacific/Fakaofo')).toEqual(skippedDay);
    },
  );

  it('puts the times around the day that Samoa skipped one second apart', () => {
    expect(resolve('2011-12-29', '23:59:59', 'Pacific/Apia')).toBe('2011-12-30T09:59:59.000Z');
    expect(resolve('2011-12-31', '00:00:00', 'Pacific/Apia')).toBe('2011-12-30T10:00:00.000Z');
  });

  it.each([
    ['US/Pacific', '2027-07-01T19:00:00.000Z'],
    ['EST', '2027-07-01T17:00:00.000Z'],
    ['EST5EDT', '2027-07-01T16:00:00.000Z'],
    ['Asia/Calcutta', '2027-07-01T06:30:00.000Z'],
    ['Asia/Kathmandu', '2027-07-01T06:15:00.000Z'],
    ['UTC', '2027-07-01T12:00:00.000Z'],
    ['Etc/GMT+5', '2027-07-01T17:00:00.000Z'],
    ['Pacific/Kiritimati', '2027-06-30T22:00:00.000Z'],
  ])('resolves noon in %s', (zone, noon) => {
    expect(resolve('2027-07-01', '12:00:00', zone)).toBe(noon);
  });
});

describe('checkSchedule with a time zone', () => {
  const check = (zone: string): unknown =>
    outcomeOf(() => {
      checkSchedule({ scheduledDay: '2027-07-01', scheduledTimeZone: zone });
      return undefined;
    });

  it.each([
    '+05:30',
    '-04:00',
    '+0530',
    'Z',
    'z',
    'GMT+5',
    'UTC+5',
    'UTC+05:30',
    'GMT-05:00',
    'PST',
    'CST',
    'IST',
    'AST',
    'America/Nowhere',
    'America/New York',
    ' America/New_York',
    'America/New_York ',
    'America//New_York',
    '/America/New_York',
    '../zoneinfo/UTC',
    'America/Argentina/Buenos_Aires/x',
    'local',
    '',
    '[America/New_York]',
    'America/New_York[u-ca=hebrew]',
    '５',
  ])('rejects %j', (zone) => {
    expect(check(zone)).toEqual(['schedule_time_zone_unknown', '#/scheduledTimeZone']);
  });

  it.each([
    'UTC',
    'GMT',
    'GMT0',
    'EST',
    'EST5EDT',
    'US/Pacific',
    'Etc/GMT+5',
    'Etc/GMT-14',
    'Asia/Calcutta',
    'Asia/Kolkata',
    'Europe/Kyiv',
    'America/Argentina/Buenos_Aires',
    'america/new_york',
  ])('accepts %s', (zone) => {
    expect(check(zone)).toBeNull();
  });

  it('accepts and resolves every zone that the runtime lists', () => {
    const noon = { scheduledDay: '2027-07-01', scheduledTime: '12:00:00' };
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      expect(check(zone)).toBeNull();
      expect(outcomeOf(() => resolveSchedule({ ...noon, scheduledTimeZone: zone }, null))).toMatch(
        /^2027-0(6-30|7-0[12])T/,
      );
    }
  });
});

describe('a schedule', () => {
  it.each<[string, Schedule, unknown]>([
    ['time', { scheduledTime: '09:00:00' }, ['schedule_incomplete', '#/scheduledTime']],
    ['zone', { scheduledTimeZone: 'UTC' }, null],
    ['unknown zone', { scheduledTimeZone: '+05:30' }, ['schedule_time_zone_unknown', '#/scheduledTimeZone']],
    [
      'time and zone',
      { scheduledTime: '09:00:00', scheduledTimeZone: 'UTC' },
      ['schedule_incomplete', '#/scheduledTime'],
    ],
    [
      'time and an unknown zone',
      { scheduledTime: '09:00:00', scheduledTimeZone: '+05:30' },
      ['schedule_incomplete', '#/scheduledTime', '#/scheduledTimeZone'],
    ],
  ])('reports every error of a schedule that has no day but %s', (_parts, schedule, refusal) => {
    expect(
      outcomeOf(() => {
        checkSchedule(schedule);
        return undefined;
      }),
    ).toEqual(refusal);
  });

  it('without any property means no time', () => {
    checkSchedule({});
    expect(resolveSchedule({}, 'America/Chicago')).toMatchObject({ scheduledAt: null, dayStartsAt: null });
  });

  it.each([
    ['the given zone', 'America/New_York', 'America/Chicago', '2027-07-01T04:00:00.000Z'],
    ['the clinic’s zone', undefined, 'America/Chicago', '2027-07-01T05:00:00.000Z'],
    ['UTC without any zone', undefined, null, '2027-07-01T00:00:00.000Z'],
  ])('with a day only has no instant, and the day starts in %s', (_rule, scheduledTimeZone, clinicZone, start) => {
    const schedule = { scheduledDay: '2027-07-01', ...(scheduledTimeZone ? { scheduledTimeZone } : {}) };
    expect(resolveSchedule(schedule, clinicZone)).toMatchObject({ scheduledAt: null, dayStartsAt: new Date(start) });
  });

  it('with a day whose midnight is skipped starts at the first instant of the day', () => {
    const schedule = { scheduledDay: '2027-09-05', scheduledTimeZone: 'America/Santiago' };
    expect(resolveSchedule(schedule, null).dayStartsAt).toEqual(new Date('2027-09-05T04:00:00.000Z'));
  });

  it('with a day only is rejected if the zone skips that day', () => {
    expect(outcomeOf(() => resolveSchedule({ scheduledDay: '2011-12-30' }, 'Pacific/Apia'))).toEqual(skippedDay);
  });

  it('with day and time uses the clinic’s zone, and is rejected without any zone', () => {
    const schedule = { scheduledDay: '2027-07-01', scheduledTime: '12:00:00' };
    expect(outcomeOf(() => resolveSchedule(schedule, 'America/Chicago'))).toBe('2027-07-01T17:00:00.000Z');
    expect(outcomeOf(() => resolveSchedule(schedule, null))).toEqual([
      'schedule_time_zone_required',
      '#/scheduledTimeZone',
    ]);
  });
});

describe('every schedule in every zone', () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC', 'US/Pacific', 'EST', 'Etc/GMT+12');
  const anyWall = fc.record({
    zone: zones,
    wall: fc
      .integer({ min: Date.UTC(1900, 0, 2), max: Date.UTC(2099, 0, 1) })
      .map((time) => Math.floor(time / 1000) * 1000),
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
        const [scheduledDay, scheduledTime] = [text.slice(0, 10), text.slice(11, 19)];
        const resolved = outcomeOf(() =>
          resolveSchedule({ scheduledDay, scheduledTime, scheduledTimeZone: zone }, null),
        );
        const [earliest] = instantsShownAs(Date.parse(`${scheduledDay}T${scheduledTime}Z`), zone);
        if (earliest !== undefined) expect(resolved).toBe(new Date(earliest).toISOString());
        else expect([skippedTime, skippedDay]).toContainEqual(resolved);
      }),
      { numRuns: 500 },
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
