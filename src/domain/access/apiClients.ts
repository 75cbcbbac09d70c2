import { Prisma } from '../../../generated/prisma/client.js';
import { isUniqueViolation } from '../../adapters/database/databaseErrors.js';
import { canonicalUuid, onlyUuid } from '../transactions/uuid.js';
import { issueSecret, lockClient, secrets, type ApiClientWithSecrets } from './apiClientSecrets.js';
import type { DomainContext } from '../../context.js';
import type { Permission } from '../../contract.js';
import { isPermission, permissions, presetPermissions, type Preset } from './permissions.js';
import { assertName, findTenant, listTenants } from './tenants.js';
import { tenantInsertion, withParts } from '../transactions/bulkSql.js';
import { findRows, updateRows } from '../transactions/rows.js';
import type { QueryContext } from '../transactions/transaction.js';

interface NewApiClient {
  /** Id or name of the tenant. */
  readonly tenant: string;
  /** Default: the name of the preset, or `client`, and the end of the client id. */
  readonly name?: string | undefined;
  readonly preset?: Preset | undefined;
  /** Permissions in addition to those of the preset. */
  readonly permissions?: readonly string[] | undefined;
  /** Ids of the clinics to which the client is limited; none = all clinics. */
  readonly clinics?: readonly string[] | undefined;
  /** Ids of the pharmacies whose order lines the client sees; none = all pharmacies. */
  readonly pharmacies?: readonly string[] | undefined;
  /** The client's own limit, in place of the server's. */
  readonly requestsPerMinute?: number | undefined;
}

/** Maximum of seconds until a change of a client takes effect: running servers cache the client's state. */
export const EFFECT_SECONDS = 30;

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Creates a client; its secret is returned only here.
 * @throws Error for an unknown or ambiguous tenant, unknown or no permissions, unknown clinics, or a bad id or name
 */
export async function createApiClient(context: QueryContext, wanted: NewApiClient) {
  const tenant = await findTenant(context, wanted.tenant);
  const mode = tenant.mode === 'live' ? 'live' : 'sandbox';
  const granted = grantedPermissions(wanted, mode);
  const allowedClinicIds = await existingClinics(context, tenant.id, wanted.clinics);
  const allowedPharmacyIds = idsOf('pharmacy', wanted.pharmacies);
  const clientId = newClientId(context);
  const name = wanted.name ?? `${wanted.preset ?? 'client'} ${clientId.slice(-6)}`;
  assertName('client', name);
  const { clientSecret, row } = issueSecret(context, mode);
  const now = context.now();
  const id = context.newId();
  const requestsPerMinute = wanted.requestsPerMinute ?? null;
  const client = { tenantId: tenant.id, clientId, name, permissions: granted, allowedClinicIds, allowedPharmacyIds };
  try {
    const { tenantId, ...columns } = { id, ...client, requestsPerMinute, createdAt: now, updatedAt: now };
    await context.db
      .of(tenantId)
      .run(
        withParts(
          [tenantInsertion(tenantId, 'api_client_secret', [{ ...row, apiClientId: id }])],
          tenantInsertion(tenantId, 'api_client', [columns]),
        ),
      );
  } catch (cause) {
    if (!isUniqueViolation(cause, 'api_client_tenant_id_name_key')) throw cause;
    const fault = `Tenant ${tenant.id} has an API client named ${JSON.stringify(name)}. Choose another name.`;
    throw new Error(fault, { cause });
  }
  return { clientSecret, ...client };
}

/** The API clients of one tenant, or of all, by tenant and name. */
export async function listApiClients(context: DomainContext, tenant?: string): Promise<ApiClientWithSecrets[]> {
  const tenants = tenant === undefined ? await listTenants(context) : [await findTenant(context, tenant)];
  const tenantIds = tenants.map(({ id }) => id);
  return context.db.prisma.apiClient.findMany({
    where: { tenantId: { in: tenantIds } },
    include: { secrets },
    orderBy: [{ tenantId: 'asc' }, { name: 'asc' }],
  });
}

/** Makes the service reject the client and all its tokens. @throws Error for an unknown client */
export async function deactivateApiClient(context: QueryContext, clientId: string): Promise<void> {
  await setActive(context, clientId, false);
}

/** Accepts the client again, but none of its earlier tokens. @throws Error for an unknown client */
export async function activateApiClient(context: QueryContext, clientId: string): Promise<void> {
  await revokeTokens(context, clientId);
  await setActive(context, clientId, true);
}

async function setActive(context: QueryContext, clientId: string, isActive: boolean): Promise<void> {
  const { tenantId, id } = await lockClient(context, clientId);
  await updateRows(
    context.db,
    tenantId,
    'ApiClient',
    { isActive, updatedAt: context.now() },
    Prisma.sql`id = ${id}::uuid`,
  );
}

export interface ClientChange {
  /** Replaces all permissions of the client. */
  readonly permissions?: readonly string[] | undefined;
  /** Null = the server's limit. */
  readonly requestsPerMinute?: number | null | undefined;
  /** Null = every clinic. */
  readonly clinics?: readonly string[] | null | undefined;
  /** Null = every pharmacy. */
  readonly pharmacies?: readonly string[] | null | undefined;
}

/** Changes permissions and limits. @throws Error for an unknown client, bad permissions or ids */
export async function changeApiClient(context: DomainContext, clientId: string, change: ClientChange) {
  const { tenantId, id } = await lockClient(context, clientId);
  const { permissions: wanted, requestsPerMinute, clinics, pharmacies } = change;
  const data = {
    ...(wanted && { permissions: grantedPermissions({ permissions: wanted }, 'live') }),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(clinics === undefined ? {} : { allowedClinicIds: await existingClinics(context, tenantId, clinics ?? []) }),
    ...(pharmacies === undefined ? {} : { allowedPharmacyIds: idsOf('pharmacy', pharmacies ?? []) }),
    updatedAt: context.now(),
  };
  await updateRows(context.db, tenantId, 'ApiClient', data, Prisma.sql`id = ${id}::uuid`);
  return context.db.prisma.apiClient.findFirstOrThrow({ where: { tenantId, id }, include: { secrets } });
}

/**
 * Revokes a client's tokens (D-91). @returns the time of the revocation, later than that of any earlier one.
 * @throws Error for an unknown client
 */
export async function revokeTokens(context: QueryContext, clientId: string): Promise<Date> {
  const { tenantId, id } = await lockClient(context, clientId);
  const now = context.now();
  // Add to a time without time zone: with one, the sum is not IMMUTABLE, and Citus refuses the UPDATE.
  const { at } = await context.db.of(tenantId).row<{ at: Date }>`
    UPDATE api_client SET updated_at = ${now}, tokens_valid_after =
      greatest(${now}, (tokens_valid_after AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC')
    WHERE tenant_id = ${tenantId} AND id = ${id}::uuid RETURNING tokens_valid_after AS at`;
  return at;
}

/** The permissions of a preset plus the given ones. @throws Error if one is unknown, or if there are none */
export function grantedPermissions(
  { preset, permissions: more = [] }: Pick<NewApiClient, 'preset' | 'permissions'>,
  mode: 'live' | 'sandbox',
): Permission[] {
  const unknown = more.filter((name) => !isPermission(name));
  if (unknown.length > 0) {
    throw new Error(`Unknown permission: ${unknown.join(', ')}. The permissions are ${permissions.join(', ')}.`);
  }
  const granted = new Set([...(preset ? presetPermissions(preset, mode) : []), ...more.filter(isPermission)]);
  if (granted.size === 0)
    throw new Error('An API client needs at least one permission. Give --permissions or, for a new client, --preset.');
  return permissions.filter((permission) => granted.has(permission));
}

/** The ids in canonical form, without repetitions; they need not exist. @throws Error if one is malformed */
export function idsOf(what: 'clinic' | 'pharmacy', given: readonly string[] = []): string[] {
  const malformed = given.filter((id) => !onlyUuid.test(canonicalUuid(id)));
  if (malformed.length > 0) throw new Error(`The id of a ${what} must be a UUID. Correct ${malformed.join(', ')}.`);
  return [...new Set(given.map(canonicalUuid))];
}

async function existingClinics({ db }: QueryContext, tenantId: string, given?: readonly string[]): Promise<string[]> {
  const ids = idsOf('clinic', given);
  const found = await findRows(db, tenantId, 'Clinic', Prisma.sql`id = ANY(${ids}::uuid[])`);
  const missing = ids.filter((id) => !found.some((clinic) => clinic.id === id));
  if (missing.length > 0) throw new Error(`Tenant ${tenantId} has no clinic ${missing.join(', ')}. Correct --clinic.`);
  return ids;
}

/** Creates a client id: `ces_` and 20 characters of lower-case base32 (RFC 4648 §6), which are 100 random bits. */
function newClientId({ randomBytes }: QueryContext): string {
  return `ces_${Array.from(randomBytes(20), (byte) => BASE32[byte % BASE32.length]).join('')}`;
}
