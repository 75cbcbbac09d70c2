import type { Database } from '../../../src/adapters/database/database.js';
import type { Transaction } from '../../../src/adapters/database/statements.js';
import type { Context } from '../../../src/context.js';
import { createEncounter, getEncounter } from '../../../src/domain/encounters/encounters.js';
import type { EncounterRequest } from '../../../src/domain/encounters/draft.js';
import type { CallerContext, LookupContext } from '../../../src/domain/transactions/transaction.js';

// `make typecheck` is what fails here.
it('does not compile code that must be atomic with a context from outside of its transaction', () => {
  const uses = [
    (inside: CallerContext, body: EncounterRequest) => createEncounter(inside, body),
    // @ts-expect-error A request's context is no transaction.
    (outside: Context, body: EncounterRequest) => createEncounter(outside, body),
    // @ts-expect-error What reads under a lock needs the transaction that holds it.
    (outside: Context) => getEncounter(outside, 1n),
    // @ts-expect-error The database itself is no transaction.
    (db: Database): Transaction => db,
    // @ts-expect-error Prisma's queries are no part of a transaction.
    (inside: CallerContext) => inside.db.prisma,
    (inside: CallerContext): LookupContext => inside,
  ];
  expect(uses).toHaveLength(6);
});

it('keeps all members of a context in a copy of it', () => {
  // A copy has the type of its source, so what a copy lacked would compile and be undefined.
  const copyOf = (context: Context): Context => ({ ...context });
  expect(copyOf({ now: () => new Date(0) } as Context).now()).toEqual(new Date(0));
});
