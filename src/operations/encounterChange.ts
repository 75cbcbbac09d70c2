import type { Context } from '../context.js';
import type { Schemas } from '../contract.js';
import { encounterNumber } from '../domain/encounters/lookup.js';
import type { EncounterRecord } from '../domain/encounters/record.js';
import type { CallerContext } from '../domain/transactions/transaction.js';
import { encounterView } from '../views/encounterView.js';
import { withIdempotency } from './withIdempotency.js';

/** Changes one encounter, only once per idempotency key, and returns it as of that change. */
export function encounterChange<Body>(
  context: Context,
  { path, body }: { readonly path: { readonly encounter_id: number | string }; readonly body: Body },
  change: (transaction: CallerContext, encounterNo: bigint, body: Body) => Promise<EncounterRecord>,
): Promise<{ status: 200; body: Schemas['Encounter'] }> {
  return withIdempotency(context, async (transaction) => {
    const encounter = await change(transaction, encounterNumber(path.encounter_id), body);
    return { status: 200, body: encounterView(encounter, transaction.now()) };
  });
}
