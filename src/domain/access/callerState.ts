import type { TokenClaims } from '../../adapters/tokens/tokens.js';
import type { Caller, PublicContext } from '../../context.js';
import type { Permission } from '../../contract.js';
import { isPermission } from './permissions.js';

/** The stored state of a token's API client and tenant, most of which can change while the token is valid. */
export type ClientState = NonNullable<Awaited<ReturnType<typeof findClientState>>>;

/** The API client of a token; null if the tenant has no such client. */
export async function findClientState(
  { db }: Pick<PublicContext, 'db'>,
  { tenant_id: tenantId, client_id: clientId }: TokenClaims,
) {
  const client = await db.prisma.apiClient.findFirst({ where: { tenantId, clientId }, include: { tenant: true } });
  if (!client) return null;
  const { tenant, permissions, allowedClinicIds, allowedPharmacyIds } = client;
  return {
    apiClientId: client.id,
    tenantMode: tenant.mode === 'sandbox' ? ('sandbox' as const) : ('live' as const),
    isActive: client.isActive && tenant.isActive,
    tokensValidAfter: client.tokensValidAfter,
    permissions,
    allowedClinicIds: allowedClinicIds.length > 0 ? allowedClinicIds : null,
    allowedPharmacyIds: allowedPharmacyIds.length > 0 ? allowedPharmacyIds : null,
    /** The client's own limit; undefined = the server's. */
    requestsPerMinute: client.requestsPerMinute ?? undefined,
    /** Milliseconds that the clock of the tenant is ahead of real time. */
    clockOffsetMs: Number(tenant.clockOffsetMs),
  };
}

/** The caller of a request, with the permissions that both token and client have, and the client's limits. */
export function callerOf(claims: TokenClaims, state: ClientState): Caller {
  return {
    tenantId: claims.tenant_id,
    tenantMode: state.tenantMode,
    apiClientId: state.apiClientId,
    clientId: claims.client_id,
    permissions: new Set<Permission>(
      claims.scope
        .split(' ')
        .filter(isPermission)
        .filter((name) => state.permissions.includes(name)),
    ),
    allowedClinicIds: state.allowedClinicIds,
    allowedPharmacyIds: state.allowedPharmacyIds,
  };
}
