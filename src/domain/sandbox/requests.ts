import type { AuditEvent } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import {
  extentOf,
  filterOf,
  MAX_SCANNED,
  positionOf,
  scannedPage,
  type ScannedPage,
} from '../transactions/listCursor.js';
import { requireSandbox } from '../access/sandboxTenants.js';

/** An audit row of a request by an API client. */
export type RequestRow = AuditEvent & { readonly [Field in 'clientId' | 'requestId']: string } & {
  readonly status: number;
};

const isRequest = (row: AuditEvent): row is RequestRow =>
  row.clientId !== null && row.requestId !== null && row.status !== null;

type Filter = Input<'listRequests'>['query'];

const KEPT_MS = 7 * 86_400_000;
/** A position above all others; cursors cannot have more digits. */
const NEWEST = 10n ** 18n - 1n;

/**
 * Lists the requests of the sandbox's API clients in the last week, newest first: all audit rows, even those
 * without a checkpoint. A client that is limited to clinics or pharmacies sees only its own requests.
 * @throws Problem sandbox_only, cursor_invalid
 */
export async function listRequests(context: Context, filter: Filter): Promise<ScannedPage<RequestRow>> {
  requireSandbox(context);
  const { db, caller, routes, realNow } = context;
  const { tenantId, clientId: own } = caller;
  const isLimited = (caller.allowedClinicIds ?? caller.allowedPharmacyIds) !== null;
  const { limit, cursor, ...wanted } = filter;
  const owner = `${tenantId}/requests`;
  const start = cursor === undefined ? NEWEST : positionOf(cursor, owner);
  const { isSelective, matches } = filterOf<RequestRow>({ ...wanted, ...(isLimited && { clientId: own }) });
  const most = isSelective ? MAX_SCANNED : limit + 1;
  const scanned = await db.prisma.auditEvent.findMany({
    where: { tenantId, position: { lt: start }, operationId: { in: [...routes.keys()] } },
    orderBy: { position: 'desc' },
    take: most,
  });
  // Do not count older rows, so that a page never announces further ones that are not shown.
  const since = new Date(realNow().getTime() - KEPT_MS);
  const recent = scanned.filter(({ at }) => at >= since);
  return scannedPage(owner, extentOf(recent, most), recent.filter(isRequest).filter(matches), limit, start);
}
