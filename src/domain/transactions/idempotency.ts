import { Prisma } from '../../../generated/prisma/client.js';
import { sqlState } from '../../adapters/database/databaseErrors.js';
import type { Queries } from '../../adapters/database/statements.js';
import type { Context, IdempotencyRequest } from '../../context.js';
import { Problem } from '../../problem.js';
import type { UnitOfWork } from './unitOfWork.js';

type KeyContext = Pick<Context, 'caller'> & { readonly db: Queries };

/**
 * Takes an idempotency key in the transaction that does the work. Waits for a concurrent duplicate. A key
 * expires after 24 hours.
 * @returns whether this request must do the work: its key is new, or has expired
 * @throws Problem idempotency_in_progress
 */
export async function takeKey(
  { db, caller }: KeyContext,
  { operationId, key, fingerprint }: IdempotencyRequest,
): Promise<boolean> {
  const taken = db.of(caller.tenantId).run`
    INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint)
    VALUES (${caller.tenantId}, ${caller.apiClientId}::uuid, ${operationId}, ${key}, ${fingerprint}::bytea)
    ON CONFLICT (tenant_id, api_client_id, operation_id, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = NULL, created_at = excluded.created_at
      WHERE excluded.created_at - idempotency_key.created_at > interval '24 hours'`;
  return (await taken.catch(throwInProgress)) > 0;
}

/** Stores the result of the work under its key, at the end of the transaction in which {@link takeKey} took the key. */
export function storeResult(
  { changes, caller }: Pick<UnitOfWork, 'changes'> & Pick<Context, 'caller'>,
  { operationId, key }: IdempotencyRequest,
  result: unknown,
): void {
  changes.push(Prisma.sql`
    UPDATE idempotency_key SET answer = ${JSON.stringify(result)}::jsonb
    WHERE tenant_id = ${caller.tenantId} AND api_client_id = ${caller.apiClientId}::uuid
      AND operation_id = ${operationId} AND key = ${key}`);
}

/** The stored result for a key; undefined if there is none. @throws Problem idempotency_key_reused */
export async function findResult(
  { db, caller }: KeyContext,
  { operationId, key, fingerprint }: IdempotencyRequest,
): Promise<unknown> {
  const [stored] = await db.of(caller.tenantId).rows<{ readonly fingerprint: Uint8Array; readonly answer: unknown }>`
    SELECT fingerprint, answer FROM idempotency_key
    WHERE tenant_id = ${caller.tenantId} AND api_client_id = ${caller.apiClientId}::uuid
      AND operation_id = ${operationId} AND key = ${key} AND created_at >= now() - interval '24 hours'`;
  if (stored && !fingerprint.equals(stored.fingerprint)) throw new Problem('idempotency_key_reused');
  return stored?.answer;
}

function throwInProgress(error: unknown): never {
  // SQLSTATE 55P03 means a lock timeout: the duplicate is still running.
  if (sqlState(error) === '55P03') throw new Problem('idempotency_in_progress', undefined, { cause: error });
  throw error;
}
