import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies, Schemas } from '../../contract.js';
import { fieldProblem, Problem, type FieldError } from '../../problem.js';
import { factsAt, subjects, type AskedTreatment } from '../approvals/clearance.js';
import { exclusions, type PresentFacts } from '../approvals/coverage.js';
import { notPermitted } from '../encounters/references.js';
import { instantOf } from '../transactions/instant.js';
import { keysThat } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { itemKey } from '../catalog/itemKey.js';
import { columnOf, type EncounterRecord, type EncounterState } from '../encounters/record.js';
import { canonicalUuid } from '../transactions/uuid.js';

/** An item with its new decision. `denialReason` null = approved, except for the declined treatments (R-200). */
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
 * @throws Problem decisions_incomplete for an item without a decision, a decision for an unknown or decided item, a second
 * decision for one item, a denial without a reason, exceptions that are not allowed (R-200)
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
    return [['', 'must be empty for a denial, which denies every treatment']];
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

/** How long before the claim a visit may have begun (R-41). */
const BEFORE_CLAIM_MS = 15 * 60_000;
/** How far the clock of the reviewing system may be ahead of the service's. */
const AHEAD_MS = 60_000;

/**
 * Checks the times of a live visit (R-41): from shortly before the claim until now, with a tolerance for clocks.
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

/** The facts and the catalog's treatments of today, by which an approval is checked. */
export interface WithPresent {
  readonly facts: PresentFacts;
  readonly present: readonly AskedTreatment[];
}

/** The ids of the patient and the clinic of an encounter, in SQL. */
export const patientOf = (tenantId: string, which: Prisma.Sql) => ({
  patientId: columnOf(tenantId, 'patient_id', which),
  clinicId: columnOf(tenantId, 'clinic_id', which),
});

/** Reads patient, clinic and treatments of an encounter as they are today, including products deleted since. */
export async function readPresent(context: CallerContext, which: Prisma.Sql): Promise<WithPresent> {
  const { tenantId } = context.caller;
  const among = Prisma.sql`p.id ${keysThat(Prisma.sql`SELECT product_id FROM encounter_treatment
    WHERE tenant_id = ${tenantId} AND encounter_id = ${columnOf(tenantId, 'id', which)}`)}`;
  const { patient, clinic, treatments } = await subjects(context, patientOf(tenantId, which), among);
  // Null only if the encounter does not exist or the caller may not see it, which the command refuses.
  if (!patient || !clinic) throw new Problem('encounter_not_found');
  return { facts: factsAt(context.now(), patient, clinic), present: treatments };
}

/**
 * Repeats some checks of the creation for an approval (R-42). Clinic and products may be inactive (R-28).
 * @param approved the approved treatments' ids, each with the pointer to its decision
 * @throws Problem patient_inactive, guardian_required, treatment_not_permitted
 */
export function requirePermitted(
  { encounter, facts, present }: Pick<EncounterState, 'encounter'> & WithPresent,
  approved: ReadonlyMap<string, string>,
): void {
  const treatments = present.filter(({ id }) => approved.has(id));
  const excluded = treatments.map((treatment) => exclusions(treatment, facts, encounter.reviewType));
  if (excluded.some((one) => one.patient_inactive))
    throw fieldProblem('patient_inactive', '#/decisions', 'concern a patient who is inactive');
  if (excluded.some((one) => one.guardian_required)) {
    throw fieldProblem('guardian_required', '#/decisions', 'concern a patient under 18 without a guardian');
  }
  const errors = treatments.flatMap((treatment, index) =>
    notPermitted(treatment, excluded[index], approved.get(treatment.id) ?? ''),
  );
  if (errors.length > 0) throw new Problem('treatment_not_permitted', undefined, { errors });
}
