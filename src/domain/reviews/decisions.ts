import type { Prisma, Encounter, GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies, Schemas } from '../../contract.js';
import { fieldProblem, Problem, type FieldError } from '../../problem.js';
import { ADULT_AGE } from '../approvals/coverage.js';
import { notPermitted } from '../encounters/references.js';
import { ageOn, instantOf } from '../transactions/instant.js';
import type { ReadContext } from '../transactions/transaction.js';
import { itemKey } from '../catalog/itemKey.js';
import type { EncounterRecord, EncounterState } from '../encounters/record.js';
import { canonicalUuid } from '../transactions/uuid.js';

/** An item with its new decision. `denialReason` null = approved, except for the declined treatments. */
export interface DecidedItem extends Pick<GfeItem, 'denialReason' | 'rationale'> {
  readonly declinedTreatmentIds: readonly string[];
  readonly item: GfeItem;
}

/** The times at which the provider met the patient. */
export interface Visit {
  readonly startedAt: Date;
  readonly endedAt: Date;
}

/**
 * Pairs each undecided item with its decision.
 * @throws Problem decisions_incomplete with every fault: an item without a decision, a decision for an unknown or
 * decided item, a second decision for one item, a denial without a reason, exceptions that leave nothing to approve
 */
export function matchDecisions(
  { gfeItems, treatments }: Pick<EncounterRecord, 'gfeItems' | 'treatments'>,
  decisions: Bodies['SubmitReviewRequest']['decisions'],
): DecidedItem[] {
  const pending = gfeItems.filter(({ status }) => status === 'pending_review');
  const waiting = new Map(pending.map((item) => [itemKey(item), item]));
  const keys = decisions.map(itemKey);
  const errors = decisions.flatMap((one, index): FieldError[] => {
    const { decision, reason } = one;
    const key = keys[index] ?? '';
    if (!waiting.has(key)) return [fault(`/${index}`, 'is not an item that awaits a decision')];
    if (keys.indexOf(key) < index) return [fault(`/${index}`, 'decides an item a second time')];
    if (decision === 'denied' && reason === undefined) return [fault(`/${index}/reason`, 'is required for a denial')];
    const ofItem = treatments.filter((treatment) => itemKey(treatment) === key).map(({ productId }) => productId);
    return exceptionErrors(one, ofItem).map(([place, detail]) => fault(`/${index}/exceptTreatmentIds${place}`, detail));
  });
  if ([...waiting.keys()].some((key) => !keys.includes(key))) {
    errors.push(fault('', 'leaves an item without a decision'));
  }
  if (errors.length > 0) throw new Problem('decisions_incomplete', undefined, { errors });
  return decisions.flatMap(({ decision, reason = null, exceptTreatmentIds = [], rationale = null }, index) => {
    const item = waiting.get(keys[index] ?? '');
    const declinedTreatmentIds = exceptTreatmentIds.map(canonicalUuid);
    return item ? [{ item, denialReason: decision === 'denied' ? reason : null, declinedTreatmentIds, rationale }] : [];
  });
}

/** The faults of a decision's exceptions, each as place and detail. @param ofItem the treatments of the item */
function exceptionErrors(
  { decision, exceptTreatmentIds = [] }: Bodies['SubmitReviewRequest']['decisions'][number],
  ofItem: readonly string[],
): (readonly [string, string])[] {
  const ids = exceptTreatmentIds.map(canonicalUuid);
  if (ids.length > 0 && decision === 'denied')
    return [['', 'must be empty for a denial, which declines every treatment']];
  const errors = ids.flatMap((id, index): (readonly [string, string])[] => {
    if (!ofItem.includes(id)) return [[`/${index}`, 'is not a treatment of the item']];
    return ids.indexOf(id) < index ? [[`/${index}`, 'must not repeat an earlier id']] : [];
  });
  const isEmpty = errors.length === 0 && ids.length === ofItem.length;
  return isEmpty ? [['', 'leaves no treatment to approve: deny the item instead']] : errors;
}

/** Reads the times of a visit as instants. @throws Problem validation_failed if the end is before the start */
export function readVisit(visit: Schemas['ReviewVisit'] | undefined): Visit | null {
  if (!visit) return null;
  const [startedAt, endedAt] = [instantOf(visit.startedAt), instantOf(visit.endedAt)];
  if (endedAt >= startedAt) return { startedAt, endedAt };
  throw new Problem('validation_failed', undefined, {
    errors: [outOfRange('endedAt', 'must not be before startedAt')],
  });
}

/** How long before the claim a visit may begin: as long as a live visit may be claimed before its time. */
const BEFORE_CLAIM_MS = 15 * 60_000;
/** How far the clock of the reviewing system may be ahead of the service's. */
const AHEAD_MS = 60_000;

/**
 * Checks the times of a live visit: between the claim and now, with a tolerance for clocks.
 * @throws Problem visit_required, validation_failed
 */
export function requireVisit(
  { reviewType, claimedAt }: Pick<Encounter, 'reviewType' | 'claimedAt'>,
  visit: Visit | null,
  now: Date,
): void {
  if (!visit && reviewType !== 'synchronous') return;
  if (!visit) throw fieldProblem('visit_required', '#/visit', 'is required for a synchronous review');
  const isEarly = visit.startedAt.getTime() < (claimedAt ?? now).getTime() - BEFORE_CLAIM_MS;
  const isLate = visit.endedAt.getTime() > now.getTime() + AHEAD_MS;
  const errors = [
    ...(isEarly ? [outOfRange('startedAt', 'must not be more than 15 minutes before claimedAt')] : []),
    ...(isLate ? [outOfRange('endedAt', 'must not be in the future')] : []),
  ];
  if (errors.length > 0) throw new Problem('validation_failed', undefined, { errors });
}

function outOfRange(property: keyof Visit, detail: string): FieldError {
  return { pointer: `#/visit/${property}`, code: 'range', detail };
}

function fault(place: string, detail: string): FieldError {
  return { pointer: `#/decisions${place}`, code: 'decisions_incomplete', detail };
}

/** The limits of an encounter's treatments as the catalog and the tenant have them today, and the clinic's time zone. */
export interface WithLimits {
  readonly clinicZone: string | null;
  readonly limits: readonly {
    readonly productId: string;
    readonly minAge: number;
    readonly synchronousOnly: boolean;
  }[];
}

/** Reads the limits of an encounter's treatments. */
export async function readLimits({ db, caller }: ReadContext, which: Prisma.Sql): Promise<WithLimits> {
  const { tenantId } = caller;
  const [row] = await db.of(tenantId).rows<WithLimits>`
    SELECT
      (SELECT timezone FROM clinic_location AS place
        WHERE place.tenant_id = ${tenantId} AND place.clinic_id = encounter.clinic_id
          AND place.is_primary) AS "clinicZone",
      (SELECT json_agg(json_build_object('productId', p.id, 'synchronousOnly', p.synchronous_only OR c.synchronous_only,
          'minAge', coalesce(p.min_age, c.min_age, tenant.minimum_age)))
        FROM encounter_treatment AS part
          JOIN product AS p ON p.tenant_id = part.tenant_id AND p.id = part.product_id
          JOIN category AS c ON c.tenant_id = p.tenant_id AND c.id = p.category_id
        WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS limits
    FROM encounter JOIN tenant ON tenant.id = encounter.tenant_id
    WHERE encounter.tenant_id = ${tenantId} AND ${which}`;
  return row ?? { clinicZone: null, limits: [] };
}

/**
 * Repeats the checks of the creation for an approval of these treatments.
 * @throws Problem patient_inactive, guardian_required, treatment_not_permitted
 */
export function requirePermitted(
  { encounter, patient, clinicZone, limits }: EncounterState & WithLimits,
  productIds: readonly string[],
  now: Date,
): void {
  const age = ageOn(now, patient.dateOfBirth.toISOString().slice(0, 10), clinicZone ?? 'UTC');
  if (!patient.accountIsActive)
    throw fieldProblem('patient_inactive', '#/decisions', 'concern a patient who is inactive');
  if (age < ADULT_AGE && patient.guardian === null) {
    throw fieldProblem('guardian_required', '#/decisions', 'concern a patient under 18 without a guardian');
  }
  const errors = limits
    .filter(({ productId }) => productIds.includes(productId))
    .flatMap((limit) => notPermitted(limit, '#/decisions', age, encounter.reviewType));
  if (errors.length > 0) throw new Problem('treatment_not_permitted', undefined, { errors });
}
