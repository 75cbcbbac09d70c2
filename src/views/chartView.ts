import type { Document, EncounterTreatment } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';
import { standing, statusAt } from '../domain/approvals/coverage.js';
import { itemKey } from '../domain/catalog/itemKey.js';
import type { Chart } from '../domain/reviews/chart.js';
import type { PatientRecord } from '../domain/patients/patients.js';
import { withinBytes } from '../domain/transactions/listCursor.js';
import { patientDocumentView } from './documentView.js';
import { duplicateView } from './encounterPreviewView.js';
import { encounterDetailsView, informationView } from './encounterView.js';
import { guardianView } from './patientView.js';
import type { PossibleDuplicate } from '../domain/patients/possibleDuplicates.js';
import { prescriptionView } from './prescriptionView.js';
import { timestamp } from './values.js';

/** The chart for a provider's decision. `links` are in the documents' order; approvals expire by the tenant's clock. */
export function chartView(chart: Chart, links: readonly string[], now: Date): Schemas['Chart'] {
  const earlierReviews = withinBytes(chart.earlierReviews.map((review) => reviewView(review, now)));
  const endedEncounters = withinBytes(chart.endedEncounters.map((encounter) => encounterDetailsView(encounter, now)));
  const openEncounters = withinBytes(chart.openEncounters.map((encounter) => otherEncounterView(encounter, now)));
  const isCut =
    earlierReviews.length < chart.earlierReviews.length ||
    openEncounters.length < chart.openEncounters.length ||
    endedEncounters.length < chart.endedEncounters.length;
  return {
    chartVersion: chart.version,
    encounter: encounterDetailsView(chart.encounter, now),
    patient: patientView(chart.patient),
    treatments: chart.treatments.map(treatmentView),
    documents: chart.documents.map((document, index) => documentView(document, chart.encounter, links[index] ?? '')),
    withdrawnDocuments: chart.withdrawnDocuments.map(patientDocumentView),
    earlierReviews,
    openEncounters,
    duplicates: duplicatesIn(chart).map(duplicateView),
    endedEncounters,
    supplies: chart.supplies.map(supplyView),
    hasMore: chart.hasMore || isCut,
    possibleDuplicates: chart.possibleDuplicates.map(possibleDuplicateView),
  };
}

/** Another encounter of the patient. The link to its visit is for the provider that claimed it. */
const otherEncounterView = (encounter: Chart['encounter'], now: Date): Schemas['Encounter'] =>
  Object.assign(encounterDetailsView(encounter, now), { visitUrl: null });

/** The items of other open encounters with the category and subcategory of an item under review. */
function duplicatesIn({ encounter, openEncounters }: Chart) {
  const keys = encounter.gfeItems.map(itemKey);
  return openEncounters.flatMap((other) =>
    other.gfeItems.filter((item) => keys.includes(itemKey(item))).map((item) => ({ ...item, encounter: other })),
  );
}

function patientView(patient: PatientRecord): Schemas['ChartPatient'] {
  return {
    user_id: patient.id,
    firstName: patient.firstName,
    lastName: patient.lastName,
    dateOfBirth: patient.dateOfBirth.toISOString(),
    sex: patient.sex,
    email: patient.email,
    countryCode: patient.countryCode,
    phone: patient.phone,
    emergencyContactName: patient.emergencyContactName,
    emergencyContactCode: patient.emergencyContactCode,
    emergencyContact: patient.emergencyContact,
    guardian: guardianView(patient.guardian),
    state: patient.state,
    medicalHistory: patient.medicalHistory,
    insuranceInfo: patient.insuranceInfo,
    notes: patient.notes,
  };
}

function treatmentView(treatment: EncounterTreatment): Schemas['ChartTreatment'] {
  return {
    treatmentId: treatment.productId,
    sku: treatment.sku,
    name: treatment.name,
    category_name: treatment.categoryName,
    sub_category_name: treatment.subCategoryName,
    pharmacyName: treatment.pharmacyName,
    rx: prescriptionView(treatment),
  };
}

function documentView(document: Document, encounter: Chart['encounter'], fileUrl: string): Schemas['ChartDocument'] {
  const { id: documentId, docType, fileName, contentType, sizeBytes } = document;
  const isOfEncounter = encounter.documents.some((named) => named.documentId === documentId);
  const createdAt = document.createdAt.toISOString();
  return { documentId, isOfEncounter, docType, fileName, contentType, sizeBytes, createdAt, fileUrl };
}

function reviewView(review: Chart['earlierReviews'][number], now: Date): Schemas['ChartReview'] {
  return {
    encounter_id: Number(review.encounterNo),
    clinicId: review.clinicId,
    reviewType: review.reviewType,
    reviewedAt: (review.completedAt ?? review.updatedAt).toISOString(),
    reviewerRef: review.reviewerRef,
    additionalNotes: review.additionalNotes,
    information: review.information.map(informationView),
    notes: review.reviewNotes,
    addenda: review.addenda.map(({ addedAt, reviewerRef, text }) => {
      return { addedAt: addedAt.toISOString(), reviewerRef, text };
    }),
    decisions: review.gfeItems.map((item) => ({
      category_name: item.categoryName,
      sub_category_name: item.subCategoryName,
      categoryId: item.categoryId,
      subcategoryId: item.subcategoryId,
      status: statusAt(item, now),
      validUntil: timestamp(item.validUntil),
      denialReason: item.denialReason,
      treatments: review.treatments
        .filter((treatment) => itemKey(treatment) === itemKey(item))
        .map((treatment) => decidedTreatmentView(treatment, now)),
      rationale: item.rationale,
      revocationReason: item.revocationReason,
    })),
  };
}

function decidedTreatmentView(
  treatment: EncounterTreatment,
  now: Date,
): Schemas['ChartReview']['decisions'][number]['treatments'][number] {
  return { treatmentId: treatment.productId, name: treatment.name, status: standing(treatment, now) };
}

function supplyView({ order, ...supply }: Chart['supplies'][number]): Schemas['ChartSupply'] {
  return {
    treatmentId: supply.productId,
    name: supply.name,
    order_no: order.orderNo,
    clinicId: order.clinicId,
    orderedAt: supply.orderedAt.toISOString(),
    status: supply.status,
    shippedAt: timestamp(supply.shippedAt),
    holdReason: supply.holdReason,
  };
}

/** Another patient of the tenant who may be the same person. */
function possibleDuplicateView(patient: PossibleDuplicate): Schemas['PossibleDuplicate'] {
  return {
    user_id: patient.id,
    firstName: patient.firstName,
    lastName: patient.lastName,
    matches: [
      ...(patient.hasSameLastName ? (['lastName'] as const) : []),
      ...(patient.hasSamePhone ? (['phone'] as const) : []),
    ],
    denials: patient.denials.map((denial) => ({
      encounter_id: Number(denial.encounterNo),
      clinicId: denial.clinicId,
      category_name: denial.categoryName,
      sub_category_name: denial.subCategoryName,
      categoryId: denial.categoryId,
      subcategoryId: denial.subcategoryId,
      denialReason: denial.denialReason,
      decidedAt: denial.decidedAt.toISOString(),
    })),
  };
}
