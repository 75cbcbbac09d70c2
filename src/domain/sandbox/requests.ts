import type { AuditEvent, SandboxExchange } from '../../../generated/prisma/client.js';
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
import { ownRequests } from '../access/limits.js';
import { requireSandbox } from '../access/sandboxTenants.js';
import { EXCHANGE_MS } from '../audit/exchanges.js';
import { Problem } from '../../problem.js';

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
 * Lists the requests of the sandbox's API clients in the last week, newest first: their audit rows, even those
 * without a checkpoint. A client that is limited to clinics or pharmacies sees only its own requests.
 * @throws Problem sandbox_only, cursor_invalid
 */
export async function listRequests(context: Context, filter: Filter): Promise<ScannedPage<RequestRow>> {
  requireSandbox(context);
  const { db, caller, routes, realNow } = context;
  const { tenantId } = caller;
  const { limit, cursor, ...wanted } = filter;
  const owner = `${tenantId}/requests`;
  const start = cursor === undefined ? NEWEST : positionOf(cursor, owner);
  const { isSelective, matches } = filterOf<RequestRow>({ ...wanted, ...ownRequests(caller) });
  const most = isSelective ? MAX_SCANNED : limit + 1;
  const scanned = await db.prisma.auditEvent.findMany({
    where: { tenantId, position: { lt: start }, operationId: { in: [...routes.keys()] } },
    orderBy: { position: 'desc' },
    take: most,
  });
  // Drop older rows before counting, so that has_more does not count rows that are not shown.
  const since = new Date(realNow().getTime() - KEPT_MS);
  const recent = scanned.filter(({ at }) => at >= since);
  return scannedPage(owner, extentOf(recent, most), recent.filter(isRequest).filter(matches), limit, start);
}

/** The request of the contract's examples, which a reset restores. */
export const exampleExchange = (at: Date) => ({
  requestId: '01a1f9b8-cbc0-7000-8000-00000000f00d',
  at,
  clientId: 'ces_k5xw4zdpnrqw2y3imfzg',
  operationId: 'getEncounter',
  target: '/encounters/999999',
  requestBody: null,
  responseBody: '{"status":404,"code":"encounter_not_found"}',
  status: 404,
  code: 'encounter_not_found',
});

/** Reads a request of the last hour with its bodies. @throws Problem sandbox_only, request_not_found */
export async function getRequest(context: Context, requestId: string): Promise<SandboxExchange> {
  requireSandbox(context);
  const { db, caller, realNow } = context;
  const at = { gte: new Date(realNow().getTime() - EXCHANGE_MS) };
  const where = { tenantId: caller.tenantId, requestId, at, ...ownRequests(caller) };
  const found = await db.prisma.sandboxExchange.findFirst({ where });
  if (!found) throw new Problem('request_not_found');
  return found;
}
