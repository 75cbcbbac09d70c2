import type { PrismaQueries } from './prismaQueries.js';
import type { ContractOperation } from './contract.js';
import type { Harness } from './harness.js';
import type { Answer } from './http.js';

/** Whose key it is, and of which operation. */
export interface TakenKey {
  readonly tenantId: string;
  readonly apiClientId: string;
  readonly operationId: string;
  readonly key: string;
}

/** A key as another request would have left it. */
export async function takeKey(db: PrismaQueries, taken: TakenKey): Promise<void> {
  const left = { fingerprint: Buffer.alloc(32), answer: { status: 200, body: {} } };
  await db.idempotencyKey.create({ data: { ...taken, ...left } });
}

/**
 * What each operation answers while a request with the same key is under way, by operationId. They wait at the same
 * time, because the wait is long: the pool needs a connection for each, one for the twin and one to spare.
 */
export function behindTwins(
  { domain }: Pick<Harness, 'domain'>,
  owner: Pick<TakenKey, 'tenantId' | 'apiClientId'>,
  operations: readonly ContractOperation[],
  send: (operation: ContractOperation, key: string) => Promise<Answer>,
): Promise<ReadonlyMap<string, Answer>> {
  const key = 'of a request that is under way';
  return domain.db.prisma.$transaction(
    async (db) => {
      for (const { operationId } of operations) await takeKey(db, { ...owner, operationId, key });
      const answers = operations.map(async (operation) => [operation.operationId, await send(operation, key)] as const);
      return new Map(await Promise.all(answers));
    },
    { timeout: 20_000 },
  );
}
