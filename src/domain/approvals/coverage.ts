import { isDeepStrictEqual } from 'node:util';
import type { EncounterTreatment, GfeItem } from '../../../generated/prisma/client.js';

/** From this age on, in years, a patient needs no guardian. */
const ADULT_AGE = 18;

/** A decision about one treatment of a patient at a clinic. */
export type Decided = Pick<EncounterTreatment, 'decision' | 'validUntil' | 'endedAt' | 'endReason'>;

/** The present effect of a decision; `pending` = not decided. */
export type Standing = 'approved' | 'denied' | 'declined' | 'expired' | 'revoked' | 'superseded' | 'pending';

/**
 * The standing of a decision at a moment. An approval expires at its end. One that was revoked or superseded is
 * never in force: the clock of another server may date that in the future.
 */
export function standing({ decision, endReason, validUntil }: Decided, at: Date): Standing {
  if (decision === null) return 'pending';
  if (decision !== 'approved') return decision;
  if (endReason !== null) return endReason;
  return validUntil !== null && validUntil <= at ? 'expired' : 'approved';
}

/** The treatment as the catalog has it today. */
export interface PresentTreatment {
  readonly isActive: boolean;
  readonly rx: unknown;
  /** In years: the product's, else the category's, else the tenant's. */
  readonly minAge: number;
  /** Whether product or category allows only synchronous reviews. */
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

/** The latest decision about a treatment, with the type of its review. */
export type LatestDecision = Decided & {
  /** The prescription as it was reviewed. */
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
): Coverage {
  const decided = latest ? standing(latest, at) : 'never_requested';
  if (latest && decided === 'approved') {
    if (!isDeepStrictEqual(latest.rx ?? null, treatment.rx ?? null)) return 'prescription_changed';
    const excluded = Object.values(exclusions(treatment, facts, latest.reviewType));
    return excluded.includes(true) ? 'not_permitted' : 'approved';
  }
  return isPending ? 'pending' : decided;
}

/** Whether each reason excludes a patient from a treatment with this type of review, in the order of R-29. */
export const exclusions = (
  treatment: PresentTreatment,
  { age, hasGuardian, isPatientActive, isClinicActive }: PresentFacts,
  reviewType: LatestDecision['reviewType'],
) => ({
  clinic_inactive: !isClinicActive,
  patient_inactive: !isPatientActive,
  guardian_required: age < ADULT_AGE && !hasGuardian,
  treatment_inactive: !treatment.isActive,
  minimum_age: age < treatment.minAge,
  synchronous_only: treatment.synchronousOnly && reviewType !== 'synchronous',
});
export type Exclusions = ReturnType<typeof exclusions>;

/** The kinds of facts that a decision rests on. */
export type FactKind = 'patient' | 'medicalHistory' | 'notes' | 'documents' | 'information' | 'decisions';

/** The kinds of facts that changed after a version of the facts. @param changes the patient's `factsChanges` */
export function changedSince(changes: unknown, version: bigint | number | null): FactKind[] {
  if (version === null) return [];
  const latest = Object.entries(changes as Readonly<Record<string, number>>);
  return latest.filter(([, changedAt]) => changedAt > Number(version)).map(([kind]) => kind as FactKind);
}

/** The status of an item: an approval is `expired` from its end on, although its row stays `approved`. */
export function statusAt({ status, validUntil }: Pick<GfeItem, 'status' | 'validUntil'>, at: Date): GfeItem['status'] {
  return status === 'approved' && validUntil !== null && validUntil <= at ? 'expired' : status;
}
