import { isDeepStrictEqual } from 'node:util';
import type { EncounterTreatment, GfeItem } from '../../../generated/prisma/client.js';

/** An adult decides without a guardian from this age on, in years. */
export const ADULT_AGE = 18;

/** A decision about one treatment of a patient at a clinic. */
export type Decided = Pick<EncounterTreatment, 'decision' | 'validUntil' | 'endedAt' | 'endReason'>;

/** The present effect of a decision; `pending` = not decided. */
export type Standing = 'approved' | 'denied' | 'declined' | 'expired' | 'revoked' | 'superseded' | 'pending';

/** A `knownAt` after every recorded end, even one that a fast clock of another server dates in the future. */
export const EVERYTHING = new Date(8.64e15);

/**
 * The standing of a decision at a moment, by the facts known at `knownAt`. An approval expires at its end; one
 * that was revoked or superseded is never in force again.
 */
export function standing(
  { decision, endedAt, endReason, validUntil }: Decided,
  at: Date,
  knownAt = EVERYTHING,
): Standing {
  if (decision === null) return 'pending';
  if (decision !== 'approved') return decision;
  if (endedAt !== null && endReason !== null && endedAt <= knownAt) return endReason;
  return validUntil !== null && validUntil <= at ? 'expired' : 'approved';
}

/** The treatment as the catalog has it today. */
export interface PresentTreatment {
  readonly isActive: boolean;
  readonly rx: unknown;
  /** In years. */
  readonly minAge: number;
  readonly synchronousOnly: boolean;
}

/** The facts about patient and clinic that decide whether a treatment may be supplied. */
export interface PresentFacts {
  /** The patient's age in years on the day. */
  readonly age: number;
  readonly hasGuardian: boolean;
  readonly isPatientActive: boolean;
  readonly isClinicActive: boolean;
}

/** The latest decision about a treatment, with the review that it came from. */
export type LatestDecision = Decided & {
  /** The prescription as it was approved. */
  readonly rx: unknown;
  readonly reviewType: 'synchronous' | 'asynchronous';
};

/** Why a treatment is not covered, or `approved`. */
export type Coverage = Standing | 'never_requested' | 'prescription_changed' | 'not_permitted';

/**
 * Whether a patient may get a treatment at a clinic at a moment, and if not, why. No other code decides this.
 * @param latest the latest decision about this treatment of the patient at the clinic; null = none
 * @param isPending whether an open encounter asks for the treatment
 */
export function coverage(
  treatment: PresentTreatment,
  latest: LatestDecision | null,
  isPending: boolean,
  facts: PresentFacts,
  at: Date,
  knownAt = EVERYTHING,
): Coverage {
  const decided = latest ? standing(latest, at, knownAt) : 'never_requested';
  if (latest && decided === 'approved') {
    if (!isDeepStrictEqual(latest.rx ?? null, treatment.rx ?? null)) return 'prescription_changed';
    return isPermitted(treatment, latest, facts) ? 'approved' : 'not_permitted';
  }
  return isPending ? 'pending' : decided;
}

function isPermitted(treatment: PresentTreatment, { reviewType }: LatestDecision, facts: PresentFacts): boolean {
  return (
    treatment.isActive &&
    facts.isClinicActive &&
    facts.isPatientActive &&
    facts.age >= treatment.minAge &&
    (facts.age >= ADULT_AGE || facts.hasGuardian) &&
    (!treatment.synchronousOnly || reviewType === 'synchronous')
  );
}

/** The kinds of facts that a decision rests on. */
export type FactKind = 'patient' | 'medicalHistory' | 'notes' | 'documents' | 'information' | 'decisions';

/** The kinds of facts that changed after a version of them. @param changes the patient's `factsChanges` */
export function changedSince(changes: unknown, version: bigint | number | null): FactKind[] {
  if (version === null) return [];
  const latest = Object.entries(changes as Readonly<Record<string, number>>);
  return latest.filter(([, changedAt]) => changedAt > Number(version)).map(([kind]) => kind as FactKind);
}

/** The status of an item: an approval is `expired` from its end on, even before a job records that. */
export function statusAt({ status, validUntil }: Pick<GfeItem, 'status' | 'validUntil'>, at: Date): GfeItem['status'] {
  return status === 'approved' && validUntil !== null && validUntil <= at ? 'expired' : status;
}
