import type { Operation } from './operation.js';
import { checkEncounterRequest, draftEncounter } from '../domain/encounters/draft.js';
import { encounterPreviewView } from '../views/encounterPreviewView.js';

/** POST /encounters/preview: the checks of createEncounter, with nothing stored. */
export const previewEncounter: Operation<'previewEncounter'> = async ({ body }, context) => {
  checkEncounterRequest(body);
  return { status: 200, body: encounterPreviewView(await draftEncounter(context, body)) };
};
