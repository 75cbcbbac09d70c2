import type { Encounter, EncounterTreatment, GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies, Input, Schemas } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { requireRoom } from '../access/sandboxTenants.js';
import { mayUseClinic } from '../access/limits.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { amountsOf } from '../orders/money.js';
import {
  inQuery,
  lockReferences,
  obstacles,
  readReferences,
  refuse,
  requireFound,
  unusableParts,
  type Fault,
  type FoundParts,
  type Treatment,
} from './references.js';
import { itemKey } from '../catalog/itemKey.js';
import { checkMetadata } from '../patients/metadata.js';
import { licensedModes } from '../providers/licenses.js';
import type { EncounterRecord } from './record.js';
import { checkSchedule, claimableFrom, expiresAt, resolveSchedule, type ResolvedSchedule } from './schedule.js';
import { withNews } from './command.js';
import { flush, write, type Moment } from '../transactions/changes.js';
import { nextNumber } from '../transactions/rows.js';
import type { CallerContext, ReadContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';

export type EncounterRequest = Bodies['CreateEncounterRequest'];

/** The id and number of a new encounter: generated, or those of a sandbox fixture. */
export type EncounterKey = Pick<Encounter, 'id' | 'encounterNo'>;

/** An encounter as a request would create it. */
export interface EncounterDraft {
  readonly encounter: EncounterRecord;
  readonly schedule: ResolvedSchedule;
  /** Problems that prevent the creation, grouped by check in order; empty if there are none. */
  readonly faults: readonly (readonly Fault[])[];
}

/** Step 2 of R-29: refuses a UUID in two spellings, which `uniqueItems` misses. @throws Problem validation_failed */
export function refuseRepeatedIds(body: Partial<Pick<EncounterRequest, 'treatmentIds' | 'documentIds'>>): void {
  const errors = (['treatmentIds', 'documentIds'] as const).flatMap((property) => {
    const ids = (body[property] ?? []).map(canonicalUuid);
    return ids.flatMap((id, index): FieldError[] =>
      ids.indexOf(id) === index
        ? []
        : [{ pointer: `#/${property}/${index}`, code: 'uniqueItems', detail: 'must not repeat an earlier id' }],
    );
  });
  if (errors.length > 0) throw new Problem('validation_failed', undefined, { errors });
}

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
 * Creates an encounter with a frozen copy of its treatments.
 * @param body one that `checkEncounterRequest` accepted
 * @throws Problem schedule_*, *_not_found, *_inactive, guardian_required, treatment_unavailable_at_clinic,
 * treatment_not_permitted, document_patient_mismatch, document_withdrawn, sandbox_full
 */
export async function createEncounter(
  context: CallerContext,
  body: EncounterRequest,
  fixed?: EncounterKey,
): Promise<EncounterRecord> {
  await flush(context);
  const [parts, encounterNo] = await Promise.all([
    lockReferences(context, body),
    fixed?.encounterNo ?? nextNumber(context.db, 'encounter_encounter_no_seq'),
  ]);
  const { caller } = context;
  const at = { now: context.now(), newId: context.newId, caller };
  const key = { id: fixed?.id ?? context.newId(), encounterNo };
  const { encounter, faults } = decideCreation(parts, body, at, key);
  const [failing] = faults;
  if (failing) throw refuse(failing);
  await requireRoom(context, 'encounter');
  const { status, reviewType, clinicId, patientId } = encounter;
  const event = told(encounter, 'encounter.created', {
    ...numbersOf(encounter),
    status,
    reviewType,
    clinicId,
    patientId,
  });
  const { patient } = requireFound(parts);
  const { id, factsVersion, factsChanges } = patient;
  const facts = { id, factsVersion: BigInt(factsVersion), factsChanges };
  const rows = {
    Encounter: [encounter],
    EncounterTreatment: encounter.treatments,
    EncounterDocument: encounter.documents,
    GfeItem: encounter.gfeItems,
  };
  write(
    context,
    at,
    caller.tenantId,
    { Patient: [facts] },
    { Patient: [withNews({ patient: facts }, 'notes', hasNews(body) ? 1 : 0)], ...rows },
    [event],
  );
  return encounter;
}

/** The encounter that a body would create now, without storing anything. @throws Problem as {@link decideCreation} */
export async function previewEncounter(context: ReadContext, body: EncounterRequest): Promise<EncounterDraft> {
  const { newId, caller } = context;
  return decideCreation(await readReferences(context, body), body, { now: context.now(), newId, caller });
}

/**
 * The encounter of a checked body, for creation, preview and revision. Records that cannot be used become `faults`.
 * @param key of a new encounter; previews and revisions show no number
 * @throws Problem *_not_found, schedule_time_zone_required, schedule_time_nonexistent
 */
export function decideCreation(
  parts: Parameters<typeof requireFound>[0],
  body: EncounterRequest,
  at: Moment,
  key: EncounterKey = { id: at.newId(), encounterNo: 0n },
): EncounterDraft {
  const needsClinicZone = body.scheduledTime !== undefined && body.scheduledTimeZone === undefined;
  // A time without a zone needs the zone of the clinic, so report a missing clinic first.
  if (needsClinicZone && !parts.clinic) requireFound(parts);
  const schedule = resolveSchedule(body, parts.clinic?.timeZone ?? null);
  const found = requireFound(parts);
  return {
    encounter: newEncounter(found, body, schedule, at, key),
    schedule,
    faults: unusableParts(found, body, at.now),
  };
}

function newEncounter(
  found: FoundParts,
  body: EncounterRequest,
  schedule: ResolvedSchedule,
  { now, newId, caller }: Moment,
  { id: encounterId, encounterNo }: EncounterKey,
): EncounterRecord {
  if (!caller) throw new Error('encounters are created by API clients only');
  const { clinic, patient, currency } = found;
  const { tenantId } = caller;
  const of = { tenantId, encounterId, clinicId: clinic.id };
  const { id: patientId } = patient;
  const treatments = found.treatments.map((treatment, position) => {
    return { ...of, patientId, id: newId(), position, ...frozenTreatment(treatment), ...untreated };
  });
  const patientState = body.patientState?.toUpperCase() ?? null;
  return {
    ...of,
    id: encounterId,
    encounterNo,
    gfeNo: `GFE-${encounterNo}`,
    patientId,
    status: 'pending_review',
    reviewType: body.reviewType,
    serviceQueue: body.serviceQueue,
    additionalNotes: body.additionalNotes ?? null,
    reference: body.reference ?? null,
    metadata: body.metadata ?? null,
    shipTo: body.shipTo ?? null,
    scheduledDay: body.scheduledDay ?? null,
    scheduledTime: body.scheduledTime ?? null,
    scheduledTimeZone: body.scheduledTimeZone ?? null,
    scheduledAt: schedule.scheduledAt,
    patientState,
    reviewState: patientState ?? patient.reviewState,
    claimableFrom: claimableFrom(body.reviewType, schedule, now),
    expiresAt: expiresAt(schedule, now),
    ...amountsOf(treatments),
    currency,
    ...unreviewed,
    createdAt: now,
    updatedAt: now,
    version: 1,
    treatments,
    documents: found.documents.map(({ id: documentId }, position) => {
      return { tenantId, encounterId, documentId, position };
    }),
    gfeItems: newItems(found.treatments).map((item, position) => ({ ...of, id: newId(), position, ...item })),
    information: [],
    addenda: [],
    orders: [],
  };
}

const untreated = { decision: null, decidedAt: null, validUntil: null, endedAt: null, endReason: null };

/** The columns of an encounter that only its review fills. */
const unreviewed = {
  reviewerRef: null,
  claimedAt: null,
  claimedById: null,
  reviewedById: null,
  leaseExpiresAt: null,
  visitUrl: null,
  visitStartedAt: null,
  visitEndedAt: null,
  reviewNotes: null,
  factsVersion: null,
  reviewedProvider: null,
  reviewedIdentity: null,
  completedAt: null,
  cancelledAt: null,
  cancelReason: null,
} satisfies Partial<Encounter>;

/** Whether a request has notes, which are news about the patient. */
const hasNews = ({ additionalNotes = '' }: EncounterRequest): boolean => additionalNotes.trim() !== '';

/**
 * The types of review, each with the first reason that prevents it for a new encounter, if there is one.
 * @throws Problem clinic_not_permitted, *_not_found
 */
export async function reviewOptions(
  context: ReadContext,
  query: Input<'getReviewOptions'>['query'],
): Promise<Schemas['ReviewOptions']> {
  if (!mayUseClinic(context, query.clinicId)) throw new Problem('clinic_not_permitted');
  const parts = requireFound(await readReferences(context, query), inQuery);
  const { reviewState } = parts.patient;
  const at = context.now();
  const licensed = await licensedModes(context, reviewState);
  const modeOf = (reviewType: Encounter['reviewType']): Schemas['ReviewMode'] => {
    const [fault] = obstacles(parts, { reviewType }, at).flat();
    const code = fault?.code === 'treatment_not_permitted' ? fault.reason : fault?.code;
    const reason = code ?? (licensed.includes(reviewType) ? null : 'provider_not_licensed');
    return { reviewType, allowed: reason === null, reason };
  };
  return { reviewState, modes: [modeOf('synchronous'), modeOf('asynchronous')] };
}

/** The columns of a treatment that are frozen for estimate and later orders. */
function frozenTreatment({ offer, category, subcategory, rx, ...treatment }: Treatment) {
  if (!offer) throw new Error(`product ${treatment.id} has no offer`);
  return {
    productId: treatment.id,
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
    rx: rx as EncounterTreatment['rx'],
  };
}

/** An item per pair of category and subcategory, in the treatments' order. */
function newItems(treatments: readonly Treatment[]) {
  const keys = treatments.map(itemKey);
  const firsts = treatments.filter((treatment, index) => keys.indexOf(itemKey(treatment)) === index);
  return firsts.map(({ category, subcategory }) => ({
    categoryId: category.id,
    categoryName: category.categoryName,
    subcategoryId: subcategory.id,
    subCategoryName: subcategory.subCategoryName,
    reviewOften: category.reviewOften,
    reviewRecurring: category.reviewRecurring,
    status: 'pending_review' as const,
    decidedAt: null,
    validUntil: null,
    expiringNotifiedAt: null,
    expiredNotifiedAt: null,
    denialReason: null,
    rationale: null,
    revokedBy: null,
    revocationReason: null,
  })) satisfies Partial<GfeItem>[];
}
