import { Prisma } from '../../../generated/prisma/client.js';
import { isLockTimeout } from '../../adapters/database/database.js';
import type { IdempotencyRequest } from '../../context.js';
import { Problem } from '../../problem.js';
import type { LookupContext, StatementContext } from './transaction.js';

/** How long a request waits for a concurrent duplicate: below the timeout of a statement, so the error can say why. */
const LOCK_TIMEOUT = '4000ms';

/**
 * Takes a key in the transaction of the effect. Waits for a concurrent duplicate; after 24 hours a key is free again.
 * @returns false if an earlier request has the key
 * @throws Problem idempotency_in_progress
 */
export async function takeKey(
  { db, caller }: StatementContext,
  { operationId, key, fingerprint }: IdempotencyRequest,
): Promise<boolean> {
  const taken = await db.$executeRaw`
    INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint)
    SELECT ${caller.tenantId}, ${caller.apiClientId}::uuid, ${operationId}, ${key}, ${fingerprint}::bytea
    FROM set_config('lock_timeout', ${LOCK_TIMEOUT}, true)
    ON CONFLICT (tenant_id, api_client_id, operation_id, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = NULL, created_at = excluded.created_at
      WHERE idempotency_key.created_at < now() - interval '24 hours'`.catch(throwInProgress);
  return taken === 1;
}

/** Stores the result of the work under the key that {@link takeKey} took, at the end of the same transaction. */
export function storeResult(
  { changes, caller }: StatementContext,
  { operationId, key }: IdempotencyRequest,
  result: unknown,
): void {
  changes.push(Prisma.sql`
    UPDATE idempotency_key SET answer = ${JSON.stringify(result)}::jsonb
    WHERE tenant_id = ${caller.tenantId} AND api_client_id = ${caller.apiClientId}::uuid
      AND operation_id = ${operationId} AND key = ${key}`);
}

/**
 * What an earlier request stored under the key; undefined = no request has used it.
 * @throws Problem idempotency_key_reused if that was another request
 */
export async function findResult(
  { db, caller }: LookupContext,
  { operationId, key, fingerprint }: IdempotencyRequest,
): Promise<unknown> {
  const [stored] = await db.$queryRaw<{ readonly fingerprint: Uint8Array; readonly answer: unknown }[]>`
    SELECT fingerprint, answer FROM idempotency_key
    WHERE tenant_id = ${caller.tenantId} AND api_client_id = ${caller.apiClientId}::uuid
      AND operation_id = ${operationId} AND key = ${key} AND created_at >= now() - interval '24 hours'`;
  if (stored && !fingerprint.equals(stored.fingerprint)) throw new Problem('idempotency_key_reused');
  return stored?.answer;
}

function throwInProgress(error: unknown): never {
  if (isLockTimeout(error)) throw new Problem('idempotency_in_progress', undefined, { cause: error });
  throw error;
}
