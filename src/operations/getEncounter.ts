import type { Operation } from './operation.js';
import { showEncounter } from '../domain/encounters/lookup.js';
import { encounterDetailsView } from '../views/encounterView.js';
import { entityTag } from './entityTag.js';

/** GET /encounters/{encounter_id}: the stored record, with the details that lists omit. */
export const getEncounter: Operation<'getEncounter'> = async ({ path }, context) => {
  const encounter = await showEncounter(context, path.encounter_id);
  const headers = { ETag: entityTag(encounter.version) };
  return { status: 200, headers, body: encounterDetailsView(encounter, context.now()) };
};
