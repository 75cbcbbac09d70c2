import { Prisma, type Encounter } from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import type { LookupContext } from '../transactions/transaction.js';

/**
 * The two-letter state whose licence an encounter needs: that of the patient, or else that of the clinic's primary location
 * . An SQL expression over a row `encounter`.
 */
export const stateOfEncounter = Prisma.sql`coalesce(
  (SELECT ref_state.code FROM client JOIN ref_state ON ref_state.id = client.gfe_state_id
    WHERE client.tenant_id = encounter.tenant_id AND client.id = encounter.patient_id),
  (SELECT place.state FROM clinic_location AS place
    WHERE place.tenant_id = encounter.tenant_id AND place.clinic_id = encounter.clinic_id AND place.is_primary))`;

/**
 * Refuses a provider without a licence, if the tenant wants one: it is active and has one in force in the state of the
 * encounter, for chart reviews one that allows them.
 * @throws Problem provider_not_licensed
 */
export async function requireLicence(
  { db, caller }: LookupContext,
  { clinicId, patientId, reviewType }: Pick<Encounter, 'clinicId' | 'patientId' | 'reviewType'>,
  reviewerRef: string,
  now: Date,
): Promise<void> {
  const { tenantId } = caller;
  const [found] = await db.of(tenantId).rows<{ isLicensed: boolean }>`
    SELECT NOT tenant.require_licensed_provider OR EXISTS (
      SELECT FROM provider JOIN provider_licence AS licence
        ON licence.tenant_id = provider.tenant_id AND licence.provider_id = provider.id
      WHERE provider.tenant_id = tenant.id AND provider.reviewer_ref = ${reviewerRef} AND provider.is_active
        AND licence.state = (SELECT ${stateOfEncounter} FROM (SELECT ${tenantId}::text AS tenant_id,
          ${patientId}::uuid AS patient_id, ${clinicId}::uuid AS clinic_id) AS encounter)
        AND licence.expires_on >= (${now}::timestamptz AT TIME ZONE 'UTC')::date
        AND (licence.asynchronous_allowed OR ${reviewType} = 'synchronous')) AS "isLicensed"
    FROM tenant WHERE tenant.id = ${tenantId}`;
  if (!found?.isLicensed) throw new Problem('provider_not_licensed');
}
