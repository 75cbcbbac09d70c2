import type { Models } from '../../src/adapters/database/database.js';
import type { ContractOperation } from './contract.js';
import type { Harness } from './harness.js';
import type { Answer } from './http.js';

/** A key with its owner and operation. */
export interface TakenKey {
  readonly tenantId: string;
  readonly apiClientId: string;
  readonly operationId: string;
  readonly key: string;
}

/** Stores a key as another request would. */
export async function takeKey(db: Models, taken: TakenKey): Promise<void> {
  const left = { fingerprint: Buffer.alloc(32), answer: { status: 200, body: {} } };
  await db.idempotencyKey.create({ data: { ...taken, ...left } });
}

/**
 * The answer of each operation, by operationId, while another request with its key is in progress. The requests wait
 * concurrently, because each wait is long: the pool needs a connection for each, one for that request and one to spare.
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
