import type { Encounter, EncounterTreatment, GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { requireRoom } from '../access/sandboxTenants.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { amountsOf } from '../orders/money.js';
import {
  lockReferences,
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
  /** The faults of each of the steps 6 to 13 of R-29 that fails, in their order. */
  readonly faults: readonly (readonly Fault[])[];
}

/** For step 2 of R-29: refuses a UUID in two spellings, which `uniqueItems` misses. @throws Problem validation_failed */
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
 * @throws Problem as {@link decideCreation}; *_inactive, guardian_required, treatment_unavailable_at_clinic,
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
    status,
    reviewType,
    clinicId,
    patientId,
    ...numbersOf(encounter),
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
  if (!caller) throw new Error('the creation of an encounter needs a caller: pass one in its Moment');
  const { clinic, patient, currency } = found;
  const { tenantId } = caller;
  const of = { tenantId, encounterId, clinicId: clinic.id };
  const treatments = found.treatments.map((treatment, position) =>
    newTreatment(treatment, { id: newId(), position, patientId: patient.id, ...of }),
  );
  const patientState = body.patientState?.toUpperCase() ?? null;
  // Keep the only spread at the end: a spread before this many columns would cost V8 50 µs.
  return {
    tenantId,
    id: encounterId,
    encounterNo,
    gfeNo: `GFE-${encounterNo}`,
    clinicId: clinic.id,
    patientId: patient.id,
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
    currency,
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
    createdAt: now,
    updatedAt: now,
    version: 1,
    treatments,
    documents: found.documents.map(({ id: documentId }, position) => {
      return { tenantId, encounterId, documentId, position };
    }),
    gfeItems: firstOfEachItem(found.treatments).map((treatment, position) =>
      newItem(treatment, { id: newId(), position, ...of }),
    ),
    information: [],
    addenda: [],
    orders: [],
    ...amountsOf(treatments),
  };
}

/** Whether a request has notes, which are news about the patient. */
const hasNews = ({ additionalNotes = '' }: EncounterRequest): boolean => additionalNotes.trim() !== '';

type Place = 'tenantId' | 'id' | 'encounterId' | 'clinicId' | 'position';

/** A treatment with the frozen copy of its product. */
function newTreatment(treatment: Treatment, place: Pick<EncounterTreatment, Place | 'patientId'>): EncounterTreatment {
  const { offer, category, subcategory, rx } = treatment;
  if (!offer) throw new Error(`product ${treatment.id} has no offer: import it again`);
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
    rx,
    decision: null,
    decidedAt: null,
    validUntil: null,
    endedAt: null,
    endReason: null,
    ...place,
  };
}

/** The first treatment of each pair of category and subcategory. */
function firstOfEachItem(treatments: readonly Treatment[]): Treatment[] {
  const keys = treatments.map(itemKey);
  return treatments.filter((treatment, index) => keys.indexOf(itemKey(treatment)) === index);
}

function newItem({ category, subcategory }: Treatment, place: Pick<GfeItem, Place>): GfeItem {
  return {
    categoryId: category.id,
    categoryName: category.categoryName,
    subcategoryId: subcategory.id,
    subCategoryName: subcategory.subCategoryName,
    reviewOften: category.reviewOften,
    reviewRecurring: category.reviewRecurring,
    status: 'pending_review',
    decidedAt: null,
    validUntil: null,
    expiringNotifiedAt: null,
    expiredNotifiedAt: null,
    denialReason: null,
    rationale: null,
    revokedBy: null,
    revocationReason: null,
    ...place,
  };
}
