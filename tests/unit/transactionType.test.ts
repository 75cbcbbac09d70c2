import { Prisma } from '../../generated/prisma/client.js';
import type { Database } from '../../src/adapters/database/database.js';
import type { Transaction } from '../../src/adapters/database/statements.js';
import type { Context } from '../../src/context.js';
import { createEncounter } from '../../src/domain/encounters/creation.js';
import type { EncounterRequest } from '../../src/domain/encounters/creation.js';
import { loadEncounter } from '../../src/domain/encounters/record.js';
import type { CallerContext, LookupContext } from '../../src/domain/transactions/transaction.js';

// `make typecheck` fails if one of the expected errors is missing.
it('the compiler rejects work that must be atomic when its context is outside of a transaction', () => {
  const uses = [
    (inside: CallerContext, body: EncounterRequest) => createEncounter(inside, body),
    // @ts-expect-error The context of a request is not a transaction.
    (outside: Context, body: EncounterRequest) => createEncounter(outside, body),
    // @ts-expect-error A read under a lock needs the transaction that holds the lock.
    (outside: Context) => loadEncounter(outside, '', Prisma.empty),
    // @ts-expect-error The database itself is not a transaction.
    (db: Database): Transaction => db,
    // @ts-expect-error Prisma's queries bypass the transaction.
    (inside: CallerContext) => inside.db.prisma,
    (inside: CallerContext): LookupContext => inside,
  ];
  expect(uses).toHaveLength(6);
});
