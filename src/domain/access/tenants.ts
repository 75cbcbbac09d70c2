import { Prisma, type Tenant } from '../../../generated/prisma/client.js';
import type { Caller } from '../../context.js';
import { fieldsOf, identifier, insertion } from '../transactions/bulkSql.js';
import type { QueryContext } from '../transactions/transaction.js';

export interface NewTenant {
  readonly name: string;
  /** The `tenantId` of the API, a slug; by default derived from the name. */
  readonly id?: string | undefined;
  readonly mode: Caller['tenantMode'];
  /** Default: true for a live tenant, false for a sandbox. */
  readonly requireLicensedProvider?: boolean | undefined;
}

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SLUG_LENGTH = 63;

/** Creates a tenant. @throws Error if the name or the id is malformed or taken */
export async function createTenant(
  context: QueryContext,
  { name, id = slugOf(name), mode, requireLicensedProvider = mode === 'live' }: NewTenant,
): Promise<Tenant> {
  assertName('tenant', name);
  assertTenantId(id);
  // Operators refer to tenants by id or name, so neither may be ambiguous.
  const namesake = (await listTenants(context)).find((other) => isCalled(other, name) || isCalled(other, id));
  if (namesake) {
    const { id: taken, name: takenName } = namesake;
    throw new Error(`Tenant ${taken}, ${JSON.stringify(takenName)}, has this name or id. Choose another name or --id.`);
  }
  const now = context.now();
  const defaults = mode === 'live' ? { minimumAge: 18, recordRetentionYears: 7 } : {};
  const settings = { minimumAge: 0, recordRetentionYears: 0, requireLicensedProvider, ...defaults };
  const row = { id, name, mode, ...settings, createdAt: now, updatedAt: now };
  return context.db.everyTenant.row`${insertion('tenant', [row])} RETURNING ${columns}`;
}

/** The settings that operators may change; undefined = unchanged. */
interface TenantSettings {
  /** Whether claims and approvals require a licensed provider, addenda and revocations a registered one. */
  readonly requireLicensedProvider?: boolean | undefined;
  /** The minimum age, in years, for treatments whose product and category have none. */
  readonly minimumAge?: number | undefined;
  /** For how many years after the last decision about a patient an erasure needs `--before-retention`. */
  readonly recordRetentionYears?: number | undefined;
  /** ISO 4217 code in any letter case, for new encounters and reorders; encounters keep theirs. */
  readonly currency?: string | undefined;
}

/** Changes the settings of a tenant. @throws Error for an unknown or ambiguous tenant, or an unknown currency */
export async function configureTenant(
  context: QueryContext,
  idOrName: string,
  { requireLicensedProvider, minimumAge, recordRetentionYears, currency }: TenantSettings,
): Promise<Tenant> {
  const { id } = await findTenant(context, idOrName);
  const code = currency === undefined ? undefined : currencyCode(currency);
  const stays = <Value>(value: Value | undefined, column: string) =>
    Prisma.sql`coalesce(${value ?? null}, ${identifier(column)})`;
  return context.db.of(id).row`
      UPDATE tenant SET currency = ${stays(code, 'currency')},
        require_licensed_provider = ${stays(requireLicensedProvider, 'require_licensed_provider')},
        minimum_age = ${stays(minimumAge, 'minimum_age')},
        record_retention_years = ${stays(recordRetentionYears, 'record_retention_years')},
        updated_at = ${context.now()}
      WHERE id = ${id} RETURNING ${columns}`;
}

/** Blocks or admits a tenant's callers and webhooks; keeps its data. @throws Error for an unknown or ambiguous name */
export async function setTenantActive(context: QueryContext, idOrName: string, isActive: boolean): Promise<Tenant> {
  const { id } = await findTenant(context, idOrName);
  return context.db.of(id).row`
    UPDATE tenant SET is_active = ${isActive}, updated_at = ${context.now()} WHERE id = ${id} RETURNING ${columns}`;
}

export function listTenants({ db }: QueryContext): Promise<Tenant[]> {
  return db.everyTenant.rows<Tenant>`SELECT ${columns} FROM tenant ORDER BY id`;
}

const columns = fieldsOf('Tenant', 'tenant');

/** The tenant with this id or, ignoring case, this name. @throws Error for an unknown or ambiguous name */
export async function findTenant(context: QueryContext, idOrName: string): Promise<Tenant> {
  const called = await context.db.everyTenant.rows<Tenant>`
    SELECT ${columns} FROM tenant WHERE id = ${idOrName} OR lower(name) = lower(${idOrName})`;
  const tenant = called.find(({ id }) => id === idOrName) ?? called[0];
  if (!tenant) {
    throw new Error(`There is no tenant with the id or name ${JSON.stringify(idOrName)}. See "tenant list".`);
  }
  if (tenant.id !== idOrName && called.length > 1) {
    throw new Error(`${called.length} tenants have this name. Give the id of one: see "tenant list".`);
  }
  return tenant;
}

/** @throws Error unless the name has 1 to 255 characters, without control characters and surrounding white space */
export function assertName(what: string, name: string): void {
  if (/^(?!\s)[^\p{Cc}\p{Surrogate}]{1,255}(?<!\s)$/u.test(name)) return;
  throw new Error(`A ${what} name must have 1 to 255 characters, without control characters or outer white space.`);
}

/** @throws Error unless the id is a slug of up to {@link SLUG_LENGTH} characters */
export function assertTenantId(id: string): void {
  if (SLUG.test(id) && id.length <= SLUG_LENGTH) return;
  throw new Error(
    `A tenant id must have 1 to ${SLUG_LENGTH} characters: lower-case letters and digits, with single hyphens between them. Give one with --id.`,
  );
}

/** @throws Error unless the text is an ISO 4217 code, in any letter case */
export function currencyCode(text: string): string {
  const code = text.toUpperCase();
  if (Intl.supportedValuesOf('currency').includes(code)) return code;
  throw new Error(`${JSON.stringify(text)} is not a currency. Give its ISO 4217 code, such as USD.`);
}

function isCalled({ id, name }: Tenant, idOrName: string): boolean {
  return id === idOrName || name.toLowerCase() === idOrName.toLowerCase();
}

/** The default id of a tenant with this name: `Lakeside Health, Inc.` → `lakeside-health-inc` */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, SLUG_LENGTH)
    .replace(/-$/, '');
}
