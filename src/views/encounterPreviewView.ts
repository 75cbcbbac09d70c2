import type { Schemas } from '../contract.js';
import type { DraftItem, EncounterDraft } from '../domain/encounters/draft.js';
import type { Duplicate } from '../domain/approvals/duplicates.js';
import { duplicateView } from './duplicateView.js';
import { estimateView, treatmentIdsOf } from './encounterView.js';
import { timestamp } from './values.js';

/** The encounter that a request for a preview would create now. */
export function encounterPreviewView(
  draft: EncounterDraft,
  duplicates: readonly Duplicate[],
): Schemas['EncounterPreview'] {
  return {
    problems: draft.faults.flat().map(({ code, pointer, detail, reason }) => {
      return { code, pointer, detail, ...(reason === undefined ? {} : { reason }) };
    }),
    estimate: estimateView({ currency: draft.currency, ...draft.amounts }),
    scheduledAt: timestamp(draft.schedule.scheduledAt),
    gfe_data: draft.items.map((item) => previewItemView(draft, item)),
    duplicates: duplicates.map(duplicateView),
  };
}

function previewItemView({ lines }: EncounterDraft, item: DraftItem): Schemas['PreviewGfeItem'] {
  return {
    category_name: item.categoryName,
    sub_category_name: item.subCategoryName,
    status: item.status,
    categoryId: item.categoryId,
    subcategoryId: item.subcategoryId,
    treatmentIds: treatmentIdsOf(lines, item),
  };
}
