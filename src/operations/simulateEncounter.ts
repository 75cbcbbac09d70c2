import type { Operation } from './operation.js';
import * as sandboxSimulation from '../domain/sandbox/simulation.js';
import { encounterChange } from './encounterChange.js';

/** POST /sandbox/encounters/{encounter_id}/simulate: simulates provider, payment or expiry by the real rules. */
export const simulateEncounter: Operation<'simulateEncounter'> = (input, context) =>
  encounterChange(context, input, sandboxSimulation.simulateEncounter);
