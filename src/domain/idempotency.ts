import { isLockTimeout } from '../adapters/database.js';
import type { Context, IdempotencyRequest } from '../context.js';
import { Problem } from '../problem.js';
import { inCallerTransaction, type CallerContext } from './transactionContext.js';

/** What an operation answers, as it is stored under a key and sent again. */
interface StoredAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface StoredKey {
  readonly fingerprint: Uint8Array;
  readonly answer: unknown;
}

/** How long a request waits for its twin: below the time of a statement, so that the answer can say why. */
const WAIT = '4000ms';

/**
 * Does the work of a request in one transaction; if the request has an Idempotency-Key, at most once (domain rule
 * "Idempotency"). The key is committed together with the effect and the answer, so there is no state between: a twin
 * waits for the first one and then gets its answer; after a failure or a crash nothing is left and the work is done.
 * @param lock locks what the work changes, before the key is taken: then nothing is written before that wait
 * @throws Problem idempotency_key_reused, idempotency_in_progress, and what the work throws
 */
export async function once<Answer extends StoredAnswer>(
  context: Context,
  work: (context: CallerContext) => Promise<Answer>,
  lock?: (context: CallerContext) => Promise<void>,
): Promise<Answer> {
  const { idempotency } = context;
  if (!idempotency) return inCallerTransaction(context, work);
  return inCallerTransaction(context, async (transaction) => {
    await transaction.db.$executeRaw`SELECT set_config('lock_timeout', ${WAIT}, true)`;
    await lock?.(transaction).catch(throwInProgress);
    if (!(await takeKey(transaction, idempotency))) return replayed<Answer>(transaction, idempotency);
    const answer = await work(transaction);
    await transaction.db.$executeRaw`
      UPDATE idempotency_key SET answer = ${JSON.stringify(answer)}::jsonb
      WHERE tenant_id = ${context.caller.tenantId} AND api_client_id = ${context.caller.apiClientId}::uuid
        AND operation_id = ${idempotency.operationId} AND key = ${idempotency.key}`;
    return answer;
  });
}

/**
 * The answer of an earlier request with this key, before work begins that is not of a transaction; null = none.
 * @throws Problem idempotency_key_reused
 */
export async function earlierAnswer<Answer extends StoredAnswer>(context: Context): Promise<Answer | null> {
  const { idempotency } = context;
  const stored = idempotency && (await findKey(context, idempotency));
  return stored ? answerOf<Answer>(stored, idempotency) : null;
}

/** Inserts the key, or takes over one whose 24 hours are over; false = somebody has it. Waits for a twin in flight. */
async function takeKey({ db, caller }: CallerContext, request: IdempotencyRequest): Promise<boolean> {
  const { operationId, key, fingerprint } = request;
  const taken = await db.$executeRaw`
    INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint)
    VALUES (${caller.tenantId}, ${caller.apiClientId}::uuid, ${operationId}, ${key}, ${fingerprint})
    ON CONFLICT (tenant_id, api_client_id, operation_id, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = NULL, created_at = excluded.created_at
      WHERE idempotency_key.created_at < now() - interval '24 hours'`.catch(throwInProgress);
  return taken === 1;
}

/** A twin has the key or what it changes, or another request has the latter: to try again soon is right in both cases. */
function throwInProgress(error: unknown): never {
  if (isLockTimeout(error)) throw new Problem('idempotency_in_progress', undefined, { cause: error });
  throw error;
}

async function replayed<Answer extends StoredAnswer>(
  context: CallerContext,
  request: IdempotencyRequest,
): Promise<Answer> {
  const stored = await findKey(context, request);
  // To try to take the key has locked its row: no purge removes it now.
  if (!stored) throw new Error('a locked idempotency key is gone');
  return answerOf<Answer>(stored, request);
}

async function findKey(
  { db, caller }: CallerContext,
  { operationId, key }: IdempotencyRequest,
): Promise<StoredKey | null> {
  const [stored] = await db.$queryRaw<StoredKey[]>`
    SELECT fingerprint, answer FROM idempotency_key
    WHERE tenant_id = ${caller.tenantId} AND api_client_id = ${caller.apiClientId}::uuid
      AND operation_id = ${operationId} AND key = ${key} AND created_at >= now() - interval '24 hours'`;
  return stored ?? null;
}

function answerOf<Answer extends StoredAnswer>(
  { fingerprint, answer }: StoredKey,
  request: IdempotencyRequest | null,
): Answer {
  if (!request?.fingerprint.equals(fingerprint)) throw new Problem('idempotency_key_reused');
  // It is what this operation answered: the key is bound to the operation.
  const stored = answer as Answer;
  return { ...stored, headers: { ...stored.headers, 'Idempotent-Replayed': 'true' } };
}
