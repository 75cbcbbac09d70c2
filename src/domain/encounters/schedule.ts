import { Temporal } from 'temporal-polyfill';
import type { Encounter } from '../../../generated/prisma/client.js';
import { fieldProblem, Problem } from '../../problem.js';
import type { ProblemCode, Bodies } from '../../contract.js';
import { isTimeZone } from '../catalog/timeZone.js';

export type Schedule = Bodies['RescheduleEncounterRequest'];

export interface ResolvedSchedule {
  /** The scheduled time; null unless there are a day and a time. */
  readonly scheduledAt: Date | null;
  /** The start of the scheduled day in its zone, or in UTC if the zone is unknown; null without a day. */
  readonly dayStartsAt: Date | null;
  /** Whether the request or the clinic names a time zone; without a day, only the clinic's counts. */
  readonly isZoneKnown: boolean;
}

/** How long before its time a scheduled live visit may be claimed. */
const EARLY_CLAIM_MS = 15 * 60_000;

const DAY_MS = 24 * 3_600_000;
/** How long an encounter waits for its review. */
const EXPIRY_MS = 30 * DAY_MS;
/** How long after an unanswered request for information an encounter expires. */
const INFORMATION_MS = 14 * DAY_MS;

/**
 * Makes the checks of a schedule that do not need the clinic's zone.
 * @throws Problem schedule_incomplete, which also lists an unknown zone; schedule_time_zone_unknown;
 * schedule_time_nonexistent
 */
export function checkSchedule(schedule: Schedule): void {
  const { scheduledDay, scheduledTime, scheduledTimeZone: zone } = schedule;
  const isAlone = scheduledDay === undefined && scheduledTime !== undefined;
  const isUnknown = zone !== undefined && !isTimeZone(zone);
  const refusals = [
    ...(isAlone ? [refusal('schedule_incomplete', 'scheduledTime', 'needs a scheduledDay')] : []),
    ...(isUnknown
      ? [refusal('schedule_time_zone_unknown', 'scheduledTimeZone', 'must be an IANA time-zone name')]
      : []),
  ];
  const [first] = refusals;
  if (first) throw new Problem(first.code, undefined, { errors: refusals.flatMap(({ errors }) => errors) });
  if (zone !== undefined) resolveSchedule(schedule, null);
}

/**
 * Resolves a checked schedule to an instant. A local time that occurs twice means the earlier one (RFC 5545 §3.3.5). A
 * skipped local time is refused, because a clinical appointment must not move silently.
 * @param clinicZone zone of the clinic's primary location, used if the schedule names none
 * @throws Problem schedule_time_zone_required, schedule_time_nonexistent
 */
export function resolveSchedule(schedule: Schedule, clinicZone: string | null): ResolvedSchedule {
  const { scheduledDay, scheduledTime } = schedule;
  if (scheduledDay === undefined) return { scheduledAt: null, dayStartsAt: null, isZoneKnown: clinicZone !== null };
  const zone = schedule.scheduledTimeZone ?? clinicZone;
  const day = Temporal.PlainDate.from(scheduledDay);
  const start = day.toZonedDateTime({ timeZone: zone ?? 'UTC' });
  if (!start.toPlainDate().equals(day)) {
    throw refusal('schedule_time_nonexistent', 'scheduledDay', 'does not exist in that time zone');
  }
  const dayStartsAt = instant(start);
  if (scheduledTime === undefined) return { scheduledAt: null, dayStartsAt, isZoneKnown: zone !== null };
  if (zone === null) {
    throw refusal('schedule_time_zone_required', 'scheduledTimeZone', 'is required: the clinic has no time zone');
  }
  const wall = day.toPlainDateTime(scheduledTime);
  const resolved = wall.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (!resolved.toPlainDateTime().equals(wall)) {
    throw refusal('schedule_time_nonexistent', 'scheduledTime', 'is skipped by the clocks of that time zone');
  }
  return { scheduledAt: instant(resolved), dayStartsAt, isZoneKnown: true };
}

/**
 * When an encounter can be claimed: 15 minutes before the time of a live visit, or from the start of the day
 * if it has only a day and a known zone; otherwise from its creation.
 */
export function claimableFrom(reviewType: Encounter['reviewType'], schedule: ResolvedSchedule, createdAt: Date): Date {
  const { scheduledAt, dayStartsAt, isZoneKnown } = schedule;
  if (reviewType === 'asynchronous') return createdAt;
  if (scheduledAt) return new Date(scheduledAt.getTime() - EARLY_CLAIM_MS);
  return dayStartsAt && isZoneKnown ? dayStartsAt : createdAt;
}

/** The expiry of a new or rescheduled encounter: 30 days from now or after the schedule, whichever is later. */
export function expiresAt({ scheduledAt, dayStartsAt }: ResolvedSchedule, now: Date): Date {
  const planned = scheduledAt ?? dayStartsAt ?? now;
  return waitsUntil(new Date(planned.getTime() + EXPIRY_MS), now);
}

/** The expiry when an encounter waits for a review again; never earlier than `before`. */
export function waitsUntil(before: Date, waitsSince: Date): Date {
  return new Date(Math.max(before.getTime(), waitsSince.getTime() + EXPIRY_MS));
}

/** When an encounter that awaits information expires. */
export function informationEnds(askedAt: Date): Date {
  return new Date(askedAt.getTime() + INFORMATION_MS);
}

const instant = (time: Temporal.ZonedDateTime): Date => new Date(time.epochMilliseconds);

function refusal(code: ProblemCode, property: keyof Schedule, detail: string): Problem {
  return fieldProblem(code, `#/${property}`, detail);
}
