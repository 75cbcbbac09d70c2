import type { Operation } from './operation.js';
import { showEncounter } from '../domain/encounters/lookup.js';
import { encounterDetailsView } from '../views/encounterView.js';

/** GET /encounters/{encounter_id}: the stored record (D-06), with the details that lists omit. */
export const getEncounter: Operation<'getEncounter'> = async ({ path }, context) => ({
  status: 200,
  body: encounterDetailsView(await showEncounter(context, BigInt(path.encounter_id)), context.now()),
});
