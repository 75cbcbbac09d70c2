import { Prisma, type Category, type Product, type ProductOffer } from '../../../generated/prisma/client.js';
import type { Caller } from '../../context.js';
import type { Bodies, Input, ProblemCode, Schemas } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { mayUseClinic } from '../access/limits.js';
import { ofVisiblePatient, visiblePatient } from '../patients/visibility.js';
import type { Prescription } from '../catalog/prescription.js';
import {
  factsAt,
  presentPatient,
  presentTreatment,
  unknownRecord,
  type AskedTreatment,
  type PresentClinic,
  type PresentPatient,
} from '../approvals/clearance.js';
import { exclusions, type Exclusions } from '../approvals/coverage.js';
import { licensedModes, reviewState } from '../providers/licenses.js';
import type { LookupContext, ReadContext } from '../transactions/transaction.js';

type Body = Bodies['CreateEncounterRequest'];

/** A product with the columns that an encounter freezes, and its availability entries (R-25). */
export type Treatment = AskedTreatment &
  Pick<Product, 'sku' | 'name' | 'pharmacyId' | 'pharmacyName'> & {
    readonly category: Pick<Category, 'id' | 'categoryName' | 'reviewOften' | 'reviewRecurring'>;
    readonly subcategory: { readonly id: string; readonly subCategoryName: string };
    readonly offer: Pick<ProductOffer, 'price' | 'shippingType' | 'shippingAmount'> | null;
    readonly availability: readonly { readonly clinicId: string; readonly isActive: boolean }[];
    readonly rx: Prescription | null;
  };

interface FoundDocument {
  readonly id: string;
  readonly patientId: string;
  readonly isWithdrawn: boolean;
}
export type FoundDocuments = readonly (FoundDocument | undefined)[];

/** The records that the body refers to, all of which exist. */
export interface FoundParts {
  readonly clinic: PresentClinic & { readonly id: string };
  /** `reviewState` follows from patient and clinic; null if none is known (R-107). */
  readonly patient: PresentPatient & {
    readonly id: string;
    readonly reviewState: string | null;
    readonly factsVersion: number;
  };
  readonly treatments: readonly Treatment[];
  readonly documents: readonly FoundDocument[];
  /** ISO 4217 code of the tenant. */
  readonly currency: string;
}

/** The records for the body's ids, in their order; undefined or null if missing, or invisible to the caller. */
interface EncounterParts extends Pick<FoundParts, 'currency'> {
  readonly clinic: FoundParts['clinic'] | null;
  readonly patient: FoundParts['patient'] | null;
  readonly treatments: readonly (Treatment | undefined)[];
  readonly documents: FoundDocuments;
}

/** A row of the query. Amounts are text, because JSON numbers are not exact decimals. */
type Row = Omit<EncounterParts, 'treatments' | 'documents'> & {
  readonly treatments: readonly (Omit<Treatment, 'offer'> & {
    readonly offer: { price: string; shippingType: ProductOffer['shippingType']; shippingAmount: string } | null;
  })[];
  readonly documents: readonly FoundDocument[];
};

type References = Pick<Body, 'clinicId' | 'patientId' | 'treatmentIds' | 'documentIds'>;

/** Reads all records that the body refers to. */
export const readReferences = (context: LookupContext, body: References): Promise<EncounterParts> =>
  loadReferences(context, body, false);

/**
 * Locks the patient (R-210) and all records that the body refers to, and reads them. Lock them here, because the
 * encounter's rows are written with the events: a wait would then block every change of the tenant.
 * Documents are locked FOR SHARE: a weaker lock does not conflict with a withdrawal (R-233).
 */
export const lockReferences = (context: LookupContext, body: References): Promise<EncounterParts> =>
  loadReferences(context, body, true);

async function loadReferences(context: LookupContext, body: References, isLocked: boolean): Promise<EncounterParts> {
  const { tenantId } = context.caller;
  const lock = (strength: 'KEY SHARE' | 'SHARE' | 'NO KEY UPDATE') =>
    isLocked ? Prisma.raw(`FOR ${strength}`) : Prisma.empty;
  const treatmentIds = body.treatmentIds.map(canonicalUuid);
  const documentIds = (body.documentIds ?? []).map(canonicalUuid);
  const row = await context.db.of(tenantId).row<Row>`SELECT
    (SELECT json_build_object('id', id, 'isActive', is_active, 'timeZone',
        (SELECT timezone FROM clinic_location AS place
          WHERE place.tenant_id = ${tenantId} AND place.clinic_id = clinic.id AND place.is_primary))
      FROM clinic WHERE tenant_id = ${tenantId} AND id = ${body.clinicId}::uuid ${lock('KEY SHARE')}) AS clinic,
    (SELECT json_build_object('id', id, 'reviewState', ${reviewState(tenantId, Prisma.sql`${body.clinicId}::uuid`)},
        'factsVersion', facts_version, ${presentPatient})
      FROM client WHERE tenant_id = ${tenantId} AND id = ${body.patientId}::uuid
        AND ${visiblePatient(context.caller, 'client')} ${lock('NO KEY UPDATE')}) AS patient,
    (SELECT coalesce(json_agg(json_build_object(${presentTreatment(tenantId)}, 'sku', p.sku,
        'name', p.name, 'pharmacyId', p.pharmacy_id, 'pharmacyName', p.pharmacy_name,
        'category', json_build_object('id', c.id, 'categoryName', c.category_name,
          'reviewOften', c.review_often, 'reviewRecurring', c.review_recurring),
        'subcategory', json_build_object('id', s.id, 'subCategoryName', s.sub_category_name),
        'offer', (SELECT json_build_object('price', price::text, 'shippingType', shipping_type,
            'shippingAmount', shipping_amount::text)
          FROM product_offer AS o WHERE o.tenant_id = ${tenantId} AND o.product_id = p.id),
        'availability', (SELECT coalesce(json_agg(json_build_object('clinicId', clinic_id, 'isActive', is_active)), '[]')
          FROM clinic_availability AS a WHERE a.tenant_id = ${tenantId} AND a.product_id = p.id))), '[]')
      FROM (SELECT * FROM product
        WHERE tenant_id = ${tenantId} AND id = ANY(${treatmentIds}::uuid[]) AND NOT is_deleted ${lock('KEY SHARE')}) AS p
      JOIN category AS c ON c.tenant_id = ${tenantId} AND c.id = p.category_id
      JOIN subcategory AS s ON s.tenant_id = ${tenantId} AND s.id = p.subcategory_id) AS treatments,
    ${visibleDocuments(context.caller, documentIds, lock('SHARE'))} AS documents,
    (SELECT currency FROM tenant WHERE id = ${tenantId}) AS currency`;
  const treatments = row.treatments.map(({ offer, ...treatment }) => ({ offer: offer && priced(offer), ...treatment }));
  return {
    clinic: mayUseClinic(context, body.clinicId) ? row.clinic : null,
    patient: row.patient,
    treatments: treatmentIds.map((id) => treatments.find((treatment) => treatment.id === id)),
    documents: documentIds.map((id) => row.documents.find((document) => document.id === id)),
    currency: row.currency,
  };
}

/** Selects those of the documents that the caller may see, as JSON. */
function visibleDocuments(caller: Caller, documentIds: readonly string[], lock = Prisma.empty): Prisma.Sql {
  const { tenantId } = caller;
  return Prisma.sql`(SELECT coalesce(json_agg(json_build_object('id', id, 'patientId', patient_id,
      'isWithdrawn', withdrawn_at IS NOT NULL)), '[]')
    FROM (SELECT id, patient_id, withdrawn_at FROM document WHERE tenant_id = ${tenantId} AND id = ANY(${[...documentIds]}::uuid[])
      AND ${ofVisiblePatient(caller)} ${lock}) AS visible)`;
}

/** The documents in the order of the ids; undefined = not found, or not visible to the caller. */
export async function findDocuments({ db, caller }: LookupContext, ids: readonly string[]): Promise<FoundDocuments> {
  const documentIds = ids.map(canonicalUuid);
  const { documents } = await db.of(caller.tenantId).row<{ documents: FoundDocument[] }>`
    SELECT ${visibleDocuments(caller, documentIds)} AS documents`;
  return documentIds.map((id) => documents.find((document) => document.id === id));
}

function priced({ price, shippingAmount, ...offer }: NonNullable<Row['treatments'][number]['offer']>) {
  return { price: new Prisma.Decimal(price), shippingAmount: new Prisma.Decimal(shippingAmount), ...offer };
}

/**
 * Part of step 5 of R-29: refuses ids of records that do not exist for the caller (D-30).
 * @param placed adapts the location in a fault, for requests whose ids are not in the body
 * @throws Problem *_not_found
 */
export function requireFound(parts: EncounterParts, placed = (fault: Fault): CodedFault => fault): FoundParts {
  const { clinic, patient, treatments, documents, ...others } = parts;
  const found = treatments.filter((treatment) => treatment !== undefined);
  const foundDocuments = documents.filter((document) => document !== undefined);
  if (clinic && patient && found.length === treatments.length && foundDocuments.length === documents.length) {
    return { clinic, patient, treatments: found, documents: foundDocuments, ...others };
  }
  const faults = [
    ...(clinic ? [] : [fault('clinic_not_found', '#/clinicId')]),
    ...(patient ? [] : [fault('patient_not_found', '#/patientId')]),
    ...faultsAt(treatments, 'treatmentIds', 'treatment_not_found', (treatment) => treatment === undefined),
    ...missingDocuments(documents),
  ];
  throw refuse(faults.map(placed));
}

/** Turns a fault of the body into one of the query parameter of the same name. */
export function inQuery({ pointer, detail, ...fault }: Fault): CodedFault {
  const [, parameter = '', index] = pointer.split('/');
  return {
    ...fault,
    parameter,
    detail: index === undefined ? detail : `number ${Number(index) + 1} in the list ${detail}`,
  };
}

/** Steps 6 to 13 of R-29. @returns the faults of each step that fails */
export function unusableParts(parts: FoundParts, body: Pick<Body, 'reviewType'>, now: Date): readonly Fault[][] {
  const steps = [...obstacles(parts, body, now), ...unusableDocuments(parts.documents, parts.patient.id)];
  return steps.filter((faults) => faults.length > 0);
}

/** Steps 6 to 11 of R-29, which do not concern documents. @returns the faults of each step */
export function obstacles(
  { clinic, patient, treatments }: Pick<FoundParts, 'clinic' | 'patient' | 'treatments'>,
  { reviewType }: Pick<Body, 'reviewType'>,
  now: Date,
) {
  const facts = factsAt(now, patient, clinic);
  const excluded = treatments.map((treatment) => exclusions(treatment, facts, reviewType));
  const faultsFor = (code: keyof Exclusions & ProblemCode, pointer: string) =>
    excluded.some((one) => one[code]) ? [fault(code, pointer)] : [];
  const isUnavailable = ({ availability }: Treatment): boolean =>
    availability.length > 0 && !availability.some((entry) => entry.clinicId === clinic.id && entry.isActive);
  return [
    faultsFor('clinic_inactive', '#/clinicId'),
    faultsFor('patient_inactive', '#/patientId'),
    faultsFor('guardian_required', '#/patientId'),
    faultsAt(excluded, 'treatmentIds', 'treatment_inactive', (one) => one.treatment_inactive),
    faultsAt(treatments, 'treatmentIds', 'treatment_unavailable_at_clinic', isUnavailable),
    treatments.flatMap((treatment, index) => notPermitted(treatment, excluded[index], `#/treatmentIds/${index}`)),
  ];
}

/** The faults of a treatment that excludes the patient's age or the type of review (R-221). */
export function notPermitted(
  { minAge }: Pick<Treatment, 'minAge'>,
  excluded: Exclusions | undefined,
  pointer: string,
): Fault<'treatment_not_permitted'>[] {
  const details = [
    ['minimum_age', `is for patients of at least ${minAge} years`],
    ['synchronous_only', 'needs a synchronous review'],
  ] as const;
  return details
    .filter(([reason]) => excluded?.[reason])
    .map(([reason, detail]) => ({ pointer, code: 'treatment_not_permitted', reason, detail }));
}

/** Faults for documents that do not exist, or that the caller may not see. */
export function missingDocuments(documents: FoundDocuments): Fault[] {
  return faultsAt(documents, 'documentIds', 'document_not_found', (document) => document === undefined);
}

/** Faults for documents of another patient, and for those that are withdrawn (R-233). */
export function unusableDocuments(documents: FoundDocuments, ofPatient: string): Fault[][] {
  const isForeign = (document?: FoundDocument): boolean => document?.patientId !== ofPatient;
  const isWithdrawn = (document?: FoundDocument): boolean => document?.isWithdrawn === true;
  return [
    faultsAt(documents, 'documentIds', 'document_patient_mismatch', isForeign),
    faultsAt(documents, 'documentIds', 'document_withdrawn', isWithdrawn),
  ];
}

/** A fault: a reference in the body to a record that cannot be used, with the reason. */
export type Fault<Code = ProblemCode> = CodedFault<Code> & { readonly pointer: string };
type CodedFault<Code = ProblemCode> = Omit<FieldError, 'reason'> & {
  readonly code: Code;
  readonly reason?: Exclude<FieldError['reason'], 'dea_required' | undefined>;
};

const details: Partial<Record<ProblemCode, string>> = {
  clinic_inactive: 'is inactive',
  patient_inactive: 'is inactive',
  guardian_required: 'is under 18 and has no guardian',
  treatment_inactive: 'is inactive',
  treatment_unavailable_at_clinic: 'is not available at this clinic',
  document_patient_mismatch: 'belongs to another patient',
  document_withdrawn: 'is withdrawn',
};

function fault<Code extends ProblemCode>(code: Code, pointer: string): Fault<Code> {
  return { pointer, code, detail: details[code] ?? unknownRecord };
}

function faultsAt<T, Code extends ProblemCode>(
  items: readonly T[],
  property: string,
  code: Code,
  fails: (item: T) => boolean,
): Fault<Code>[] {
  return items.flatMap((item, index) => (fails(item) ? [fault(code, `#/${property}/${index}`)] : []));
}

/** The problem for the faults of one step: it has the code of the first, and lists all of them. */
export function refuse(faults: readonly CodedFault[]): Problem {
  const [first] = faults;
  if (!first) return new Problem('internal_error');
  return new Problem(first.code, undefined, { errors: faults });
}

/**
 * The types of review, each with the first reason that prevents it for a new encounter, if there is one (R-241).
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
  const modeOf = (reviewType: Body['reviewType']): Schemas['ReviewMode'] => {
    const [fault] = obstacles(parts, { reviewType }, at).flat();
    const code = fault?.code === 'treatment_not_permitted' ? fault.reason : fault?.code;
    const reason = code ?? (licensed.includes(reviewType) ? null : 'provider_not_licensed');
    return { reviewType, allowed: reason === null, reason };
  };
  return { reviewState, modes: [modeOf('synchronous'), modeOf('asynchronous')] };
}
