import type { Operation } from './operation.js';
import * as sandboxSimulation from '../domain/sandbox/simulation.js';
import { encounterView } from '../views/encounterView.js';

/** POST /sandbox/encounters/{encounter_id}/simulate: the provider's side, played with its real rules. */
export const simulateEncounter: Operation<'simulateEncounter'> = async ({ path, body }, context) => ({
  status: 200,
  body: encounterView(
    await sandboxSimulation.simulateEncounter(context, BigInt(path.encounter_id), body),
    context.now(),
  ),
});
