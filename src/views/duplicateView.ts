import type { Schemas } from '../contract.js';
import type { Duplicate } from '../domain/approvals/duplicates.js';

export function duplicateView(duplicate: Duplicate): Schemas['Duplicate'] {
  return {
    encounter_id: Number(duplicate.encounterNo),
    gfe_no: duplicate.gfeNo,
    status: duplicate.status,
    clinicId: duplicate.clinicId,
    createdAt: duplicate.createdAt.toISOString(),
    category_name: duplicate.categoryName,
    sub_category_name: duplicate.subCategoryName,
    categoryId: duplicate.categoryId,
    subcategoryId: duplicate.subcategoryId,
  };
}
