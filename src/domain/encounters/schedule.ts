import { Temporal } from 'temporal-polyfill';
import type { Encounter } from '../../../generated/prisma/client.js';
import { fieldProblem, Problem } from '../../problem.js';
import type { ProblemCode, Bodies } from '../../contract.js';
import { isTimeZone } from '../catalog/timeZone.js';

export type Schedule = Bodies['RescheduleEncounterRequest'];

export interface ResolvedSchedule {
  /** The instant, when day and time are given. */
  readonly scheduledAt: Date | null;
  /** When the scheduled day begins at its place (UTC if the zone is unknown); null without a day. */
  readonly dayStartsAt: Date | null;
  /** Whether a zone was given or is the clinic's. */
  readonly isZoneKnown: boolean;
}

/** A scheduled live visit may be claimed this long before it. */
const EARLY_CLAIM_MS = 15 * 60_000;

const DAY_MS = 24 * 3_600_000;
/** An encounter that nobody reviewed is given up this long after it was created or was to take place. */
const EXPIRY_MS = 30 * DAY_MS;
/** One whose partner was asked for information is given up this long after the question. */
const INFORMATION_MS = 14 * DAY_MS;

/**
 * What can be said without looking at the clinic.
 * @throws Problem schedule_incomplete, schedule_time_zone_unknown, all of them at once; then schedule_time_nonexistent
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
 * Resolves a checked schedule to an instant. Of a local time that occurs twice the earlier is meant (RFC 5545 §3.3.5);
 * one that is skipped is refused: a clinical appointment must not move silently.
 * @param clinicZone zone of the clinic's primary location, for a schedule without one
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
 * The earliest claim of an encounter: 15 minutes before a scheduled live visit; the local midnight of its day, if the
 * time is open and the zone is known; otherwise at once.
 */
export function claimableFrom(reviewType: Encounter['reviewType'], schedule: ResolvedSchedule, createdAt: Date): Date {
  const { scheduledAt, dayStartsAt, isZoneKnown } = schedule;
  if (reviewType === 'asynchronous') return createdAt;
  if (scheduledAt) return new Date(scheduledAt.getTime() - EARLY_CLAIM_MS);
  return dayStartsAt && isZoneKnown ? dayStartsAt : createdAt;
}

/**
 * Until when an encounter waits for its review: 30 days from its creation (or the latest information) or its schedule,
 * whichever is later.
 */
export function expiresAt({ scheduledAt, dayStartsAt }: ResolvedSchedule, waitsSince: Date): Date {
  const planned = scheduledAt ?? dayStartsAt ?? waitsSince;
  return waitsUntil(new Date(planned.getTime() + EXPIRY_MS), waitsSince);
}

/** The end of the wait for a review that begins anew, and not earlier than it was. */
export function waitsUntil(before: Date, waitsSince: Date): Date {
  return new Date(Math.max(before.getTime(), waitsSince.getTime() + EXPIRY_MS));
}

/** Until when an encounter waits for information that was asked for. */
export function informationEnds(askedAt: Date): Date {
  return new Date(askedAt.getTime() + INFORMATION_MS);
}

const instant = (time: Temporal.ZonedDateTime): Date => new Date(time.epochMilliseconds);

function refusal(code: ProblemCode, property: keyof Schedule, detail: string): Problem {
  return fieldProblem(code, `#/${property}`, detail);
}
