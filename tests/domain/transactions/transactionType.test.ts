import type { Context } from '../../../src/context.js';
import { createEncounter, getEncounter } from '../../../src/domain/encounters/encounters.js';
import type { EncounterRequest } from '../../../src/domain/encounters/draft.js';
import type { CallerContext } from '../../../src/domain/transactions/transaction.js';

// `make typecheck` is what fails here.
it('does not compile what must be atomic outside of a transaction', () => {
  const uses = [
    (inside: CallerContext, body: EncounterRequest) => createEncounter(inside, body),
    // @ts-expect-error A request's context is no transaction.
    (outside: Context, body: EncounterRequest) => createEncounter(outside, body),
    (outside: Context) => getEncounter(outside, 1n),
  ];
  expect(uses).toHaveLength(3);
});
