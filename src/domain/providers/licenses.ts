import { Prisma, type Encounter, type Provider, type ProviderLicense } from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import type { LookupContext, ReadContext } from '../transactions/transaction.js';

/**
 * For a row of `client`, the US state whose license an encounter without `patientState` needs; null if none
 * is known.
 * @param clinicId the clinic's id as SQL
 */
export const reviewState = (tenantId: string, clinicId: Prisma.Sql): Prisma.Sql => Prisma.sql`CASE
  WHEN gfe_state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE ref_state.id = gfe_state_id)
  WHEN state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE ref_state.id = state_id)
  ELSE (SELECT place.state FROM clinic_location AS place
    WHERE place.tenant_id = ${tenantId} AND place.clinic_id = ${clinicId} AND place.is_primary) END`;

/** A registered provider with its licenses; `expiresOn` is YYYY-MM-DD. */
export interface RegisteredProvider extends Pick<
  Provider,
  'reviewerRef' | 'name' | 'npi' | 'isActive' | 'credential' | 'deaNumber'
> {
  readonly licenses: readonly (Pick<ProviderLicense, 'state' | 'number' | 'asynchronousAllowed'> & {
    readonly expiresOn: string;
  })[];
}

/** The provider who sends a request, and the tenant's requirement. */
export interface WithProvider {
  /** Null: not registered. */
  readonly provider: RegisteredProvider | null;
  readonly isLicenseRequired: boolean;
}

type Reviewed = Pick<Encounter, 'reviewState' | 'reviewType'>;

/** A provider, or the tenant's setting alone if there is none. */
type FoundProvider = Pick<WithProvider, 'isLicenseRequired'> & (RegisteredProvider | { readonly reviewerRef: null });

/** Selects registered providers. @param where a condition on `provider`, without that on the tenant */
export function findProviders({ db, caller }: LookupContext, where: Prisma.Sql): Promise<FoundProvider[]> {
  const { tenantId } = caller;
  return db.of(tenantId).rows`
    SELECT provider.reviewer_ref AS "reviewerRef", provider.name, provider.npi, provider.is_active AS "isActive",
      provider.credential, provider.dea_number AS "deaNumber", tenant.require_licensed_provider AS "isLicenseRequired",
      (SELECT coalesce(json_agg(json_build_object('state', state, 'number', number, 'expiresOn', expires_on,
          'asynchronousAllowed', asynchronous_allowed) ORDER BY number), '[]')
        FROM provider_license AS license
        WHERE license.tenant_id = ${tenantId} AND license.provider_id = provider.id) AS licenses
    FROM tenant LEFT JOIN provider ON provider.tenant_id = tenant.id AND ${where}
    WHERE tenant.id = ${tenantId}`;
}

/** Loads the provider with this reference, for a command. */
export const loadProvider =
  (reviewerRef: string) =>
  async (context: LookupContext): Promise<WithProvider> => {
    const [found] = await findProviders(context, Prisma.sql`provider.reviewer_ref = ${reviewerRef}`);
    if (!found) throw new Error(`tenant ${context.caller.tenantId} is missing: restore it from a backup`);
    const { isLicenseRequired } = found;
    return { provider: found.reviewerRef === null ? null : found, isLicenseRequired };
  };

/** The licenses of a provider that are in force in a state: to the end of their last day in UTC. */
const inForce = ({ licenses }: RegisteredProvider, state: string | null, now: Date) =>
  licenses.filter((one) => one.state === state && one.expiresOn >= now.toISOString().slice(0, 10));

/** Whether a provider may review encounters of this type in the state. */
export function isLicensed(
  provider: RegisteredProvider,
  { reviewState: state, reviewType }: Reviewed,
  now: Date,
): boolean {
  const licenses = inForce(provider, state, now);
  return provider.isActive && licenses.some((one) => one.asynchronousAllowed || reviewType === 'synchronous');
}

/** The types of review that a provider of the tenant may make in a state; all where no license is required. */
export async function licensedModes(
  context: ReadContext,
  state: string | null,
): Promise<readonly Encounter['reviewType'][]> {
  const hasLicense = Prisma.sql`provider.is_active AND EXISTS (SELECT FROM provider_license AS license
    WHERE license.tenant_id = ${context.caller.tenantId} AND license.provider_id = provider.id
      AND license.state = ${state})`;
  const providers = await findProviders(context, hasLicense);
  const mayReview = (reviewType: Encounter['reviewType']) => (provider: FoundProvider) =>
    !provider.isLicenseRequired ||
    (provider.reviewerRef !== null && isLicensed(provider, { reviewState: state, reviewType }, context.now()));
  return (['synchronous', 'asynchronous'] as const).filter((type) => providers.some(mayReview(type)));
}

/**
 * Checks that the provider has a license for the encounter, if the tenant requires one.
 * @throws Problem provider_not_licensed
 */
export function requireLicense({ provider, isLicenseRequired }: WithProvider, encounter: Reviewed, now: Date): void {
  if (!isLicenseRequired || (provider && isLicensed(provider, encounter, now))) return;
  throw new Problem(
    'provider_not_licensed',
    encounter.reviewState === null
      ? 'No US state is known for this encounter: the partner must PATCH patientState while it is pending_review, or correct the state of the patient.'
      : undefined,
  );
}

/**
 * Checks that the provider may prescribe controlled substances; unregistered ones may where no license is required.
 * @throws Problem provider_not_licensed
 */
export function requireDea({ provider, isLicenseRequired }: WithProvider): void {
  if (!provider && !isLicenseRequired) return;
  const { deaNumber = null, credential = null } = provider ?? {};
  if (deaNumber !== null && credential !== null && credential !== 'RN') return;
  const detail = 'needs a DEA number and a credential other than RN for a controlled substance';
  throw new Problem('provider_not_licensed', undefined, {
    errors: [{ pointer: '#/reviewerRef', code: 'provider_not_licensed', reason: 'dea_required', detail }],
  });
}

/** Checks that the provider is registered and active, if the tenant requires licensed providers. */
export function requireKnownProvider({ provider, isLicenseRequired }: WithProvider): void {
  if (isLicenseRequired && provider?.isActive !== true) throw new Problem('provider_not_licensed');
}

/** The provider at the time of a decision, as stored with it. */
export interface FrozenProvider {
  readonly name: string;
  readonly npi: string;
  readonly credential: string | null;
  /** The licenses in force in the state of the review, as state and number. */
  readonly license: string | null;
}

/** The provider as of a decision; null if not registered. */
export function frozenProvider(
  { provider }: WithProvider,
  { reviewState: state }: Reviewed,
  now: Date,
): FrozenProvider | null {
  if (!provider) return null;
  const { name, npi, credential } = provider;
  const licenses = inForce(provider, state, now).map((one) => `${one.state} ${one.number}`);
  return { name, npi, credential, license: licenses.length > 0 ? licenses.join(', ') : null };
}
