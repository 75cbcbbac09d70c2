import type { Operation } from './operation.js';
import { encounterNumber } from '../domain/encounters/lookup.js';
import * as update from '../domain/encounters/update.js';
import { encounterView } from '../views/encounterView.js';
import { entityTag, versionsOf } from './entityTag.js';
import { withIdempotency } from './withIdempotency.js';

/** PATCH /encounters/{encounter_id}: a JSON merge patch of the fields that the partner may change. */
export const updateEncounter: Operation<'updateEncounter'> = ({ path, body, header }, context) =>
  withIdempotency(context, async (transaction) => {
    const isExpected = versionsOf(header['if-match']);
    const encounterNo = encounterNumber(path.encounter_id);
    const encounter = await update.updateEncounter(transaction, encounterNo, body, isExpected);
    const headers = { ETag: entityTag(encounter.version) };
    return { status: 200, headers, body: encounterView(encounter, transaction.now()) };
  });
