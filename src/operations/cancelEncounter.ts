import type { Operation } from './operation.js';
import * as cancellation from '../domain/encounters/cancellation.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/cancel: by the partner, or by the reviewing system. */
export const cancelEncounter: Operation<'cancelEncounter'> = (input, context) =>
  encounterChange(context, input, (transaction, encounterNo, body) =>
    cancellation.cancelEncounter(transaction, encounterNo, body, cancellation.cancellingActor(context.caller)),
  );
