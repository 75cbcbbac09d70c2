import type { Caller, Context } from '../context.js';
import { findResult, storeResult } from '../domain/transactions/idempotency.js';
import { inCallerTransaction, type CallerContext } from '../domain/transactions/transaction.js';
import { Problem } from '../problem.js';

const NO_LONGER =
  'Since the response to this Idempotency-Key, your client has lost access to clinics or pharmacies. Ask the operator.';

/** The response of the work, or the part of it that is stored and replayed. */
interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A stored response, with the limits of the client that got it. */
interface StoredResponse extends Response {
  readonly limits: Pick<Caller, 'allowedClinicIds' | 'allowedPharmacyIds'>;
}

/**
 * Does the work of a request in one transaction; with an Idempotency-Key, only once. Key, changes and response
 * are committed together: a concurrent duplicate waits and then gets the stored response; after a failure or a
 * crash nothing is stored, and a retry does the work.
 * @param toStore the part of the response to store and replay: all, unless it has a secret
 * @throws Problem idempotency_key_reused, idempotency_in_progress, insufficient_permission for a replay, and the errors
 * of the work
 */
export async function withIdempotency<R extends Response>(
  context: Context,
  work: (context: CallerContext) => Promise<R>,
  toStore: (response: R) => Response = (response) => response,
): Promise<R> {
  const { audit, idempotency } = context;
  const { response, isReplay } = await inCallerTransaction(context, async (transaction, isFirst) => {
    if (idempotency && !isFirst) {
      return { response: replayed(context, await findResult(transaction, idempotency)) as R, isReplay: true };
    }
    const response = await work(transaction);
    if (idempotency) {
      const { allowedClinicIds, allowedPharmacyIds } = transaction.caller;
      storeResult(transaction, idempotency, { limits: { allowedClinicIds, allowedPharmacyIds }, ...toStore(response) });
    }
    transaction.audited.push(audit.rowOf(response));
    return { response, isReplay: false };
  });
  // The work's transaction has committed its audit row, too; a replay did no work and still needs a row.
  audit.isRecorded = !isReplay;
  return response;
}

/** A response with a secret as it is stored and replayed: a notice takes the place of the secret. */
export function withoutSecret({ body, ...response }: Response): Response {
  const { secret: _shownOnce, ...shown } = body as { readonly secret?: string };
  const secretNotice = 'A replay does not show the secret. If you lost it, rotate it with a new Idempotency-Key.';
  return { ...response, body: { ...shown, secretNotice } };
}

/** The stored response of the sent key; null = none. @throws Problem idempotency_key_reused, insufficient_permission */
export async function earlierResponse<R extends Response>(context: Context): Promise<R | null> {
  const stored = context.idempotency && (await findResult(context, context.idempotency));
  return stored ? (replayed(context, stored) as R) : null;
}

/**
 * A key is bound to one operation, so the stored response is one of that operation. @throws Problem
 * insufficient_permission if the client may no longer see every clinic and pharmacy that it could see back then
 */
function replayed(context: Context, stored: unknown): Response {
  const { limits, ...response } = stored as StoredResponse;
  const { allowedClinicIds, allowedPharmacyIds } = context.caller;
  if (
    !includes(allowedClinicIds, limits.allowedClinicIds) ||
    !includes(allowedPharmacyIds, limits.allowedPharmacyIds)
  ) {
    throw new Problem('insufficient_permission', NO_LONGER);
  }
  return { ...response, headers: { ...response.headers, 'Idempotent-Replayed': 'true' } };
}

/** Whether a limit permits all that an earlier one did; null = no limit. */
const includes = (limit: readonly string[] | null, earlier: readonly string[] | null): boolean =>
  limit === null || (earlier !== null && earlier.every((id) => limit.includes(id)));
