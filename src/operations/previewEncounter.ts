import type { Operation } from './operation.js';
import { checkEncounterRequest, draftEncounter } from '../domain/encounters/draft.js';
import { findDuplicates } from '../domain/approvals/duplicates.js';
import { encounterPreviewView } from '../views/encounterPreviewView.js';

/** POST /encounters/preview: the checks of createEncounter, without storing anything. */
export const previewEncounter: Operation<'previewEncounter'> = async ({ body }, context) => {
  checkEncounterRequest(body);
  const draft = await draftEncounter(context, body);
  const { allowedClinicIds } = context.caller;
  const duplicates = await findDuplicates(context, draft.patient.id, draft.items, allowedClinicIds);
  return { status: 200, body: encounterPreviewView(draft, duplicates) };
};
