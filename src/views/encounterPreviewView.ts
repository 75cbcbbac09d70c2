import type { Schemas } from '../contract.js';
import type { GfeItem } from '../../generated/prisma/client.js';
import type { EncounterDraft } from '../domain/encounters/creation.js';
import type { Duplicate, ShownItem } from '../domain/encounters/lookup.js';
import { estimateView, treatmentIdsOf } from './encounterView.js';
import { timestamp } from './values.js';

/** The encounter that the request would create now, with the problems that prevent it and with duplicates. */
export function encounterPreviewView(
  draft: EncounterDraft,
  duplicates: readonly Duplicate[],
): Schemas['EncounterPreview'] {
  return {
    problems: draft.faults.flat().map(({ code, pointer, detail, reason }) => {
      return { code, pointer, detail, ...(reason === undefined ? {} : { reason }) };
    }),
    estimate: estimateView(draft.encounter),
    scheduledAt: timestamp(draft.schedule.scheduledAt),
    gfe_data: draft.encounter.gfeItems.map((item) => previewItemView(draft, item)),
    duplicates: duplicates.map(duplicateView),
  };
}

function previewItemView({ encounter }: EncounterDraft, item: GfeItem): Schemas['PreviewGfeItem'] {
  return {
    category_name: item.categoryName,
    sub_category_name: item.subCategoryName,
    status: 'pending_review',
    categoryId: item.categoryId,
    subcategoryId: item.subcategoryId,
    treatmentIds: treatmentIdsOf(encounter.treatments, item),
  };
}

/** An item of another open encounter. */
export function duplicateView({ encounter, ...item }: ShownItem & Pick<Duplicate, 'encounter'>): Schemas['Duplicate'] {
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
