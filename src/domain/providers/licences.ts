import { Prisma, type Encounter } from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import type { LookupContext } from '../transactions/transaction.js';

const ANY_STATE = 'any';

/** For a row of `client`, the US state whose licence an encounter needs; null if the patient names an unknown state. */
export const reviewState = (clinicId: string): Prisma.Sql => Prisma.sql`CASE
  WHEN gfe_state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE ref_state.id = gfe_state_id)
  WHEN state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE ref_state.id = state_id)
  ELSE (SELECT place.state FROM clinic_location AS place
    WHERE place.tenant_id = client.tenant_id AND place.clinic_id = ${clinicId}::uuid AND place.is_primary) END`;

/** An SQL condition: `tenant` needs no licence, or an active provider has a valid one for state and review (R-107). */
export const isAccepted = (
  reviewerRef: Prisma.Sql,
  reviewType: Prisma.Sql,
  state: string | null,
  now: Date,
): Prisma.Sql =>
  Prisma.sql`(NOT tenant.require_licensed_provider OR EXISTS (
    SELECT FROM provider JOIN provider_licence AS licence
      ON licence.tenant_id = provider.tenant_id AND licence.provider_id = provider.id
    WHERE provider.tenant_id = tenant.id AND provider.reviewer_ref = ${reviewerRef} AND provider.is_active
      AND ${state} IN (licence.state, ${ANY_STATE}) AND licence.expires_on >= (${now}::timestamptz AT TIME ZONE 'UTC')::date
      AND (licence.asynchronous_allowed OR ${reviewType} = 'synchronous')))`;

/**
 * Checks the licence of a provider, if the tenant requires one: the provider is active and has a licence in force in
 * the encounter's US state, which allows asynchronous reviews if this is one (R-107).
 * @throws Problem provider_not_licensed
 */
export async function requireLicence(
  { db, caller }: LookupContext,
  { reviewState, reviewType }: Pick<Encounter, 'reviewState' | 'reviewType'>,
  reviewerRef: string,
  now: Date,
): Promise<void> {
  const { tenantId } = caller;
  const [provider] = await db.of(tenantId).rows<{ isAccepted: boolean }>`
    SELECT ${isAccepted(Prisma.sql`${reviewerRef}`, Prisma.sql`${reviewType}::review_type`, reviewState, now)} AS "isAccepted"
    FROM tenant WHERE tenant.id = ${tenantId}`;
  if (provider?.isAccepted) return;
  throw new Problem(
    'provider_not_licensed',
    reviewState === null
      ? 'No US state is known for this encounter, so no licence covers it. Correct the state of the patient or clinic, then create the encounter again.'
      : undefined,
  );
}

/**
 * Checks the licence for an addendum or a revocation as {@link requireLicence}; without a review state, a licence of
 * any state suffices (R-107).
 * @throws Problem provider_not_licensed
 */
export function requireLicenceAfterReview(
  context: LookupContext,
  { reviewState, reviewType }: Pick<Encounter, 'reviewState' | 'reviewType'>,
  reviewerRef: string,
  now: Date,
): Promise<void> {
  return requireLicence(context, { reviewState: reviewState ?? ANY_STATE, reviewType }, reviewerRef, now);
}
