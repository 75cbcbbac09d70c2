import type { OperationId } from '../../src/contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';

/** Does the work while a request with this key, which will fail, is in progress: its row is not committed. */
export async function whileKeyIsUsed<T>(
  { domain }: Harness,
  { tenantId, clientId }: Partner,
  operationId: OperationId,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  const where = { tenantId, clientId };
  const { id: apiClientId } = await domain.db.prisma.apiClient.findFirstOrThrow({ where });
  const row = { tenantId, apiClientId, operationId, key };
  return domain.db.prisma.$transaction(
    async (transaction) => {
      await transaction.idempotencyKey.create({ data: { ...row, fingerprint: new Uint8Array(32) } });
      const result = await work();
      await transaction.idempotencyKey.deleteMany({ where: row });
      return result;
    },
    { timeout: 20_000 },
  );
}
