import type { Operation } from './operation.js';
import { checkEncounterRequest, previewEncounter as preview } from '../domain/encounters/creation.js';
import { findDuplicates } from '../domain/encounters/lookup.js';
import { encounterPreviewView } from '../views/encounterPreviewView.js';

/** POST /encounters/preview: makes checks of createEncounter, and stores nothing. */
export const previewEncounter: Operation<'previewEncounter'> = async ({ body }, context) => {
  checkEncounterRequest(body);
  const draft = await preview(context, body);
  const { patientId, gfeItems } = draft.encounter;
  const duplicates = await findDuplicates(context, patientId, gfeItems);
  return { status: 200, body: encounterPreviewView(draft, duplicates) };
};
