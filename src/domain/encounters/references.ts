import type { Prisma } from '../../../generated/prisma/client.js';
import type { Schemas } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import type { ProblemCode } from '../../contract.js';
import { canonicalUuid } from '../values/uuid.js';
import { visibleClinics } from '../catalog/clinics.js';
import type { ReadContext } from '../transactions/transaction.js';

type Body = Schemas['CreateEncounterRequest'];

const treatmentDetails = {
  category: true,
  subcategory: true,
  offer: true,
  availability: true,
  rx: { select: { id: true } },
} satisfies Prisma.ProductInclude;

export type Treatment = Prisma.ProductGetPayload<{ include: typeof treatmentDetails }>;
type PlacedClinic = Prisma.ClinicGetPayload<{ include: { locations: true } }>;

/** What the body's ids refer to, as far as the caller may see it; in the order of the ids, undefined = not found. */
export interface EncounterParts {
  readonly clinic: PlacedClinic | null;
  readonly patient: { readonly id: string; readonly accountIsActive: boolean } | null;
  readonly treatments: readonly (Treatment | undefined)[];
  readonly documents: readonly ({ readonly id: string; readonly patientId: string } | undefined)[];
}

/** The same with nothing missing. */
export interface FoundParts {
  readonly clinic: PlacedClinic;
  readonly patient: NonNullable<EncounterParts['patient']>;
  readonly treatments: readonly Treatment[];
  readonly documents: readonly { readonly id: string; readonly patientId: string }[];
}

/** Loads everything that the body names, in one round. */
export async function loadParts(context: ReadContext, body: Body): Promise<EncounterParts> {
  const { tenantId } = context.caller;
  const treatmentIds = body.treatmentIds.map(canonicalUuid);
  const documentIds = (body.documentIds ?? []).map(canonicalUuid);
  const [clinic, patient, products, documents] = await Promise.all([
    context.db.clinic.findFirst({
      where: { AND: [visibleClinics(context), { tenantId, id: body.clinicId }], tenantId },
      include: { locations: { where: { isPrimary: true } } },
    }),
    context.db.patient.findUnique({
      where: { tenantId_id: { tenantId, id: body.patientId } },
      select: { id: true, accountIsActive: true },
    }),
    context.db.product.findMany({
      where: { tenantId, id: { in: treatmentIds }, isDeleted: false },
      include: treatmentDetails,
    }),
    documentIds.length === 0
      ? []
      : context.db.document.findMany({
          where: { tenantId, id: { in: documentIds } },
          select: { id: true, patientId: true },
        }),
  ]);
  return {
    clinic,
    patient,
    treatments: treatmentIds.map((id) => products.find((product) => product.id === id)),
    documents: documentIds.map((id) => documents.find((document) => document.id === id)),
  };
}

/**
 * Step 3b: one UUID in two spellings is one id twice, which the contract's uniqueItems cannot see.
 * @throws Problem validation_failed
 */
export function refuseRepeatedIds(body: Body): void {
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
 * Step 6 of R-29: everything exists in the tenant (D-30).
 * @throws Problem clinic_not_found, patient_not_found, treatment_not_found, document_not_found
 */
export function requireFound({ clinic, patient, treatments, documents }: EncounterParts): FoundParts {
  const found = treatments.filter((treatment) => treatment !== undefined);
  const foundDocuments = documents.filter((document) => document !== undefined);
  if (clinic && patient && found.length === treatments.length && foundDocuments.length === documents.length) {
    return { clinic, patient, treatments: found, documents: foundDocuments };
  }
  throw refuse([
    ...(clinic ? [] : [fault('clinic_not_found', '#/clinicId')]),
    ...(patient ? [] : [fault('patient_not_found', '#/patientId')]),
    ...faultsAt(treatments, 'treatmentIds', 'treatment_not_found', (treatment) => treatment === undefined),
    ...faultsAt(documents, 'documentIds', 'document_not_found', (document) => document === undefined),
  ]);
}

/**
 * Steps 7 to 11: what keeps things that exist from being used for a new encounter, step by step. No step at all when
 * nothing does.
 */
export function unusableParts({ clinic, patient, treatments, documents }: FoundParts): readonly (readonly Fault[])[] {
  const isUnavailable = ({ availability }: Treatment): boolean =>
    availability.length > 0 && !availability.some((entry) => entry.clinicId === clinic.id && entry.isActive);
  const steps: Fault[][] = [
    clinic.isActive ? [] : [fault('clinic_inactive', '#/clinicId')],
    patient.accountIsActive ? [] : [fault('patient_inactive', '#/patientId')],
    faultsAt(treatments, 'treatmentIds', 'treatment_inactive', ({ isActive }) => !isActive),
    faultsAt(treatments, 'treatmentIds', 'treatment_unavailable_at_clinic', isUnavailable),
    faultsAt(documents, 'documentIds', 'document_patient_mismatch', ({ patientId }) => patientId !== patient.id),
  ];
  return steps.filter((faults) => faults.length > 0);
}

/** Where a body names something that must not be used, and why. */
export type Fault = FieldError & { readonly code: ProblemCode; readonly pointer: string };

const details: Partial<Record<ProblemCode, string>> = {
  clinic_inactive: 'is inactive',
  patient_inactive: 'is inactive',
  treatment_inactive: 'is inactive',
  treatment_unavailable_at_clinic: 'is not available at this clinic',
  document_patient_mismatch: 'belongs to another patient',
};

function fault(code: ProblemCode, pointer: string): Fault {
  return { pointer, code, detail: details[code] ?? 'does not exist in your tenant' };
}

function faultsAt<T>(items: readonly T[], property: string, code: ProblemCode, fails: (item: T) => boolean): Fault[] {
  return items.flatMap((item, index) => (fails(item) ? [fault(code, `#/${property}/${index}`)] : []));
}

/** The faults of one step as a problem: the first one names it, all are listed. */
export function refuse(faults: readonly Fault[]): Problem {
  const [first] = faults;
  return first
    ? new Problem(first.code, undefined, { errors: faults })
    : new Problem('internal_error', 'A refusal without a fault.');
}
