import type { Schemas } from '../contract.js';
import type { Clearance } from '../domain/approvals/clearance.js';
import type { Renewal } from '../domain/approvals/renewals.js';
import { timestamp } from './values.js';

export function clearanceView({ treatment, source, reason, factsChanged }: Clearance): Schemas['Clearance'] {
  return {
    treatmentId: treatment.id,
    categoryId: treatment.categoryId,
    subcategoryId: treatment.subcategoryId,
    cleared: reason === 'approved',
    reason,
    validUntil: timestamp(source?.validUntil ?? null),
    encounter_id: source && Number(source.encounterNo),
    gfe_no: source && source.gfeNo,
    decidedAt: timestamp(source?.decidedAt ?? null),
    factsChanged,
  };
}

export function renewalView(renewal: Renewal): Schemas['Renewal'] {
  return {
    patientId: renewal.patientId,
    clinicId: renewal.clinicId,
    categoryId: renewal.categoryId,
    subcategoryId: renewal.subcategoryId,
    category_name: renewal.categoryName,
    sub_category_name: renewal.subCategoryName,
    encounter_id: Number(renewal.encounterNo),
    gfe_no: renewal.gfeNo,
    decidedAt: renewal.decidedAt.toISOString(),
    validUntil: renewal.validUntil.toISOString(),
    treatments: renewal.treatments.map(({ id: treatmentId, name, reason }) => ({ treatmentId, name, reason })),
  };
}
