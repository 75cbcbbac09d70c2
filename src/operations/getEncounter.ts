import type { Operation } from './operation.js';
import { showEncounter } from '../domain/encounters/lookup.js';
import { encounterDetailsView } from '../views/encounterView.js';
import { unlessKnown } from './entityTag.js';

/** GET /encounters/{encounter_id}: with the details that lists omit. */
export const getEncounter: Operation<'getEncounter'> = async ({ path, header }, context) => {
  const encounter = await showEncounter(context, path.encounter_id);
  const body = encounterDetailsView(encounter, context.now());
  return unlessKnown(header['if-none-match'], encounter.version, body);
};
