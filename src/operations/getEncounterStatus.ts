import type { Operation } from './operation.js';
import { findEncounter } from '../domain/encounters/lookup.js';
import { encounterStatusView } from '../views/encounterView.js';

/** POST /encounters/status: the status of an encounter, found by any of its three identifiers. */
export const getEncounterStatus: Operation<'getEncounterStatus'> = async ({ body }, context) => {
  const encounter = await findEncounter(context, body);
  context.audit.patientId = encounter.patientId;
  return { status: 200, body: encounterStatusView(encounter, context.now()) };
};
