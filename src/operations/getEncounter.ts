import type { Operation } from './operation.js';
import { showEncounter } from '../domain/encounters/lookup.js';
import { encounterView } from '../views/encounterView.js';

/** GET /encounters/{encounter_id}: the stored record (D-06). */
export const getEncounter: Operation<'getEncounter'> = async ({ path }, context) => ({
  status: 200,
  body: encounterView(await showEncounter(context, BigInt(path.encounter_id)), context.now()),
});
