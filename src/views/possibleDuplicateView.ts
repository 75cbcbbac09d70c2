import type { Schemas } from '../contract.js';
import type { PossibleDuplicate } from '../domain/patients/possibleDuplicates.js';

/** Another patient of the tenant who may be the same person. */
export function possibleDuplicateView(patient: PossibleDuplicate): Schemas['PossibleDuplicate'] {
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
