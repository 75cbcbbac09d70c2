import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import {
  MAX_SCANNED,
  positionOf,
  scannedPage,
  type Scanned,
  type ScannedPage,
} from '../transactions/positionCursor.js';
import { requireSandbox } from '../access/sandboxTenants.js';

export interface RequestRow {
  readonly position: bigint;
  readonly at: Date;
  readonly clientId: string;
  readonly operationId: string;
  readonly status: number;
  readonly code: string | null;
  readonly requestId: string;
}

type Filter = Input<'listRequests'>['query'];

const KEPT_MS = 7 * 86_400_000;
/** Above all positions; a cursor has no more digits. */
const NEWEST = 10n ** 18n - 1n;

/**
 * The requests of the sandbox's API clients in the last week, newest first: all audit rows, even before their
 * checkpoint. A client that is limited to clinics sees only its own.
 * @throws Problem sandbox_only, cursor_invalid
 */
export async function listRequests(context: Context, filter: Filter): Promise<ScannedPage<RequestRow>> {
  requireSandbox(context);
  const { limit, cursor } = filter;
  const owner = `${context.caller.tenantId}/requests`;
  const before = cursor === undefined ? NEWEST : positionOf(cursor, owner, 'cursor');
  const rows = await scan(context, filter, before);
  const [frame] = rows;
  if (!frame) throw new Error('an aggregate returned no row');
  const found = rows.filter((row) => row.position !== null);
  return scannedPage(owner, frame, found, limit, before);
}

type Row = Scanned & (RequestRow | { readonly position: null });

/** Rows older than a week end the scan and are not counted, so that the page does not announce more. */
function scan({ db, caller, routes, realNow }: Context, filter: Filter, before: bigint): Promise<Row[]> {
  const { tenantId, clientId: own, allowedClinicIds } = caller;
  const { operationId = null, status = null, code = null, limit } = filter;
  const onlyClient = allowedClinicIds === null ? null : own;
  const isSelective = [operationId, status, code, onlyClient].some((wanted) => wanted !== null);
  const since = new Date(realNow().getTime() - KEPT_MS);
  return db.of(tenantId).rows<Row>`
    WITH scanned AS (
      SELECT position, at, client_id AS "clientId", operation_id AS "operationId", status, code,
        request_id AS "requestId"
      FROM audit_event
      WHERE tenant_id = ${tenantId} AND position < ${before} AND operation_id = ANY(${[...routes.keys()]})
      ORDER BY position DESC LIMIT ${isSelective ? MAX_SCANNED : limit + 1}
    ), recent AS (
      SELECT * FROM scanned WHERE at >= ${since}
    ), found AS (
      SELECT * FROM recent
      WHERE (${operationId}::text IS NULL OR "operationId" = ${operationId})
        AND (${status}::int IS NULL OR status = ${status}::int) AND (${code}::text IS NULL OR code = ${code})
        AND (${onlyClient}::text IS NULL OR "clientId" = ${onlyClient})
      ORDER BY position DESC LIMIT ${limit + 1}
    )
    SELECT frame.*, found.*
    FROM (SELECT count(*)::int AS scanned, min(position) AS "end" FROM recent) AS frame
    LEFT JOIN found ON true ORDER BY found.position DESC`;
}
