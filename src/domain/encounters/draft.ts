import type { Bodies, Input, Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { mayUseClinic } from '../access/visibility.js';
import { amountsOf, type Amounts } from '../orders/money.js';
import {
  inQuery,
  loadParts,
  obstacles,
  refuseRepeatedIds,
  requireFound,
  unusableParts,
  type Fault,
  type FoundParts,
  type Treatment,
} from './references.js';
import { itemKey } from '../catalog/itemKey.js';
import { checkMetadata } from '../patients/metadata.js';
import { reviewModes, type ReviewMode } from '../providers/reviewModes.js';
import { checkSchedule, resolveSchedule, type ResolvedSchedule } from './schedule.js';
import type { ReadContext } from '../transactions/transaction.js';

export type EncounterRequest = Bodies['CreateEncounterRequest'];

/** An encounter before it is stored. */
export interface EncounterDraft extends FoundParts {
  /** The time for all checks. */
  readonly at: Date;
  readonly schedule: ResolvedSchedule;
  /** Problems that prevent the creation, grouped by check in order; empty if there are none. */
  readonly faults: readonly (readonly Fault[])[];
  readonly lines: readonly DraftLine[];
  readonly items: readonly DraftItem[];
  /** The estimate: the cost if every treatment is approved. */
  readonly amounts: Amounts;
}

type DraftLine = ReturnType<typeof treatmentLine>;
export type DraftItem = ReturnType<typeof gfeItems>[number];

/**
 * Makes the checks of a body that need no stored data.
 * @throws Problem validation_failed, schedule_incomplete, schedule_time_zone_unknown, schedule_time_nonexistent
 */
export function checkEncounterRequest(body: EncounterRequest): void {
  refuseRepeatedIds(body);
  if (body.metadata) checkMetadata(body.metadata);
  checkSchedule(body);
}

/**
 * Makes the encounter of a checked body, for creation and preview. Records that cannot be used become `faults`.
 * @param isNew whether the encounter will be stored, and so takes a number
 * @throws Problem *_not_found, schedule_time_zone_required, schedule_time_nonexistent
 */
export async function draftEncounter(
  context: ReadContext,
  body: EncounterRequest,
  isNew = false,
): Promise<EncounterDraft> {
  const parts = await loadParts(context, body, isNew);
  const at = context.now();
  const needsClinicZone = body.scheduledTime !== undefined && body.scheduledTimeZone === undefined;
  // A time without a zone needs the zone of the clinic, so report a missing clinic first.
  if (needsClinicZone && !parts.clinic) requireFound(parts);
  const schedule = resolveSchedule(body, parts.clinic?.locations[0]?.timezone ?? null);
  const found = requireFound(parts);
  const lines = found.treatments.map((treatment, position) => treatmentLine(context, treatment, position));
  return {
    at,
    schedule,
    faults: unusableParts(found, body, at),
    lines,
    items: gfeItems(context, found.treatments),
    amounts: amountsOf(lines),
    ...found,
  };
}

/**
 * The types of review, each with the first reason that prevents it for a new encounter, if there is one.
 * @throws Problem clinic_not_permitted, *_not_found
 */
export async function reviewOptions(
  context: ReadContext,
  query: Input<'getReviewOptions'>['query'],
): Promise<Schemas['ReviewOptions']> {
  if (!mayUseClinic(context, query.clinicId)) throw new Problem('clinic_not_permitted');
  const parts = requireFound(await loadParts(context, query, false), inQuery);
  const { reviewState } = parts.patient;
  const at = context.now();
  const modes = await reviewModes(context, reviewState);
  const modeOf = ({ reviewType, isLicensed, typicalWaitMinutes }: ReviewMode): Schemas['ReviewMode'] => {
    const [fault] = obstacles(parts, { reviewType }, at).flat();
    const code = fault?.code === 'treatment_not_permitted' ? fault.reason : fault?.code;
    const reason = code ?? (isLicensed ? null : 'provider_not_licensed');
    return { reviewType, allowed: reason === null, reason, typicalWaitMinutes };
  };
  return { reviewState, modes: modes.map(modeOf) };
}

/** A line with name, price, shipping, pharmacy and prescription, frozen for estimate and later order. */
function treatmentLine(context: ReadContext, treatment: Treatment, position: number) {
  const { offer, category, subcategory, rx } = treatment;
  if (!offer) throw new Error(`product ${treatment.id} has no offer`);
  return {
    id: context.newId(),
    productId: treatment.id,
    position,
    sku: treatment.sku,
    name: treatment.name,
    price: offer.price,
    shippingType: offer.shippingType,
    shippingAmount: offer.shippingAmount,
    pharmacyId: treatment.pharmacyId,
    pharmacyName: treatment.pharmacyName,
    categoryId: category.id,
    categoryName: category.categoryName,
    subcategoryId: subcategory.id,
    subCategoryName: subcategory.subCategoryName,
    rx,
  };
}

/** Whether a request has documents or notes, which are news about the patient. */
export const hasNews = ({ documentIds = [], additionalNotes = '' }: EncounterRequest): boolean =>
  documentIds.length > 0 || additionalNotes.trim() !== '';

/** Makes an item per pair of category and subcategory, in the treatments' order. */
function gfeItems(context: ReadContext, treatments: readonly Treatment[]) {
  const keys = treatments.map(itemKey);
  const firsts = treatments.filter((treatment, index) => keys.indexOf(itemKey(treatment)) === index);
  return firsts.map(({ category, subcategory }, position) => ({
    id: context.newId(),
    position,
    categoryId: category.id,
    categoryName: category.categoryName,
    subcategoryId: subcategory.id,
    subCategoryName: subcategory.subCategoryName,
    reviewOften: category.reviewOften,
    reviewRecurring: category.reviewRecurring,
    status: 'pending_review' as const,
    decidedAt: null,
    validUntil: null,
  }));
}
