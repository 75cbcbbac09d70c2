import type { Schemas } from '../contract.js';
import type { Duplicate } from '../domain/encounters/lookup.js';

export function duplicateView({ encounter, ...item }: Duplicate): Schemas['Duplicate'] {
  return {
    encounter_id: Number(encounter.encounterNo),
    gfe_no: encounter.gfeNo,
    status: encounter.status,
    clinicId: encounter.clinicId,
    createdAt: encounter.createdAt.toISOString(),
    category_name: item.categoryName,
    sub_category_name: item.subCategoryName,
    categoryId: item.categoryId,
    subcategoryId: item.subcategoryId,
  };
}
