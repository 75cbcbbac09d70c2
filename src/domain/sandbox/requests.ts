import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { positionOf, readScan, type ScannedPage } from '../transactions/positionCursor.js';
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
/** A position above all others; cursors cannot have more digits. */
const NEWEST = 10n ** 18n - 1n;

/**
 * Lists the requests of the sandbox's API clients in the last week, newest first: all audit rows, even those
 * without a checkpoint. A client that is limited to clinics sees only its own requests.
 * @throws Problem sandbox_only, cursor_invalid
 */
export async function listRequests(context: Context, filter: Filter): Promise<ScannedPage<RequestRow>> {
  requireSandbox(context);
  const { db, caller, routes, realNow } = context;
  const { tenantId, clientId: own, allowedClinicIds } = caller;
  const { operationId = null, status = null, code = null, limit, cursor } = filter;
  const owner = `${tenantId}/requests`;
  const start = cursor === undefined ? NEWEST : positionOf(cursor, owner, 'cursor');
  const onlyClient = allowedClinicIds === null ? null : own;
  return readScan<RequestRow>(db.of(tenantId), {
    ...{ owner, start, limit, direction: 'DESC' },
    rows: Prisma.sql`
      SELECT position, at, client_id AS "clientId", operation_id AS "operationId", status, code, request_id AS "requestId"
      FROM audit_event
      WHERE tenant_id = ${tenantId} AND position < ${start} AND operation_id = ANY(${[...routes.keys()]})`,
    isSelective: [operationId, status, code, onlyClient].some((wanted) => wanted !== null),
    // Do not count older rows, so that a page never announces further ones that are not shown.
    isCounted: Prisma.sql`at >= ${new Date(realNow().getTime() - KEPT_MS)}`,
    isShown: Prisma.sql`(${operationId}::text IS NULL OR "operationId" = ${operationId})
      AND (${status}::int IS NULL OR status = ${status}::int) AND (${code}::text IS NULL OR code = ${code})
      AND (${onlyClient}::text IS NULL OR "clientId" = ${onlyClient})`,
  });
}
