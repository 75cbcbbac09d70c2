import { Prisma, type GfeItem } from '../../../generated/prisma/client.js';
import { invalidState } from '../../problem.js';
import { itemKey } from '../catalog/itemKey.js';
import type { ShownEncounter } from '../encounters/lookup.js';
import { identityIn, isOtherIdentity, type Identity } from '../patients/identity.js';
import { getPatient } from '../patients/patients.js';
import type { FrozenProvider } from '../providers/licences.js';
import { findRows } from '../transactions/rows.js';
import type { LookupContext } from '../transactions/transaction.js';

/** A treatment with the decision about it and the end of that. */
export type CertifiedItem = Pick<
  GfeItem,
  'categoryName' | 'subCategoryName' | 'status' | 'validUntil' | 'decidedAt' | 'rationale'
> & {
  readonly approvedTreatments: readonly string[];
  /** The names of the treatments that the approval excepts. */
  readonly declinedTreatments: readonly string[];
};

/** The content of a certificate, which a clinic shows to inspectors. */
export interface Certificate {
  readonly gfeNo: string;
  readonly tenantName: string;
  readonly isSandbox: boolean;
  readonly clinicName: string;
  /** The clinic's primary location on one line; null if there is none. */
  readonly clinicAddress: string | null;
  /** The time zone of the primary location. */
  readonly timeZone: string | null;
  readonly patientId: string;
  readonly identity: Identity;
  /** Whether the patient's name or birth date have changed since the review. */
  readonly isIdentityChanged: boolean;
  readonly reviewerRef: string | null;
  /** The provider as of the decision; null: not registered. */
  readonly provider: FrozenProvider | null;
  readonly items: readonly CertifiedItem[];
}

type Place = Pick<Certificate, 'tenantName' | 'isSandbox' | 'clinicName' | 'clinicAddress' | 'timeZone'>;

/** The certificate of a completed encounter. @throws Problem invalid_state */
export async function certify(context: LookupContext, encounter: ShownEncounter): Promise<Certificate> {
  const { db, caller } = context;
  const { tenantId } = caller;
  const { id, status, gfeNo, clinicId, patientId, reviewerRef } = encounter;
  if (status !== 'completed') throw invalidState(status);
  const inOrder = Prisma.sql`encounter_id = ${id}::uuid ORDER BY position`;
  const [[place], items, treatments] = await Promise.all([
    db.of(tenantId).rows<Place>`
      SELECT tenant.name AS "tenantName", tenant.mode = 'sandbox' AS "isSandbox", clinic.legal_name AS "clinicName",
        concat_ws(', ', place.address1, place.address2, place.city, place.state || ' ' || place.postal) AS "clinicAddress",
        place.timezone AS "timeZone"
      FROM clinic JOIN tenant ON tenant.id = clinic.tenant_id
      LEFT JOIN clinic_location AS place
        ON place.tenant_id = clinic.tenant_id AND place.clinic_id = clinic.id AND place.is_primary
      WHERE clinic.tenant_id = ${tenantId} AND clinic.id = ${clinicId}::uuid`,
    findRows(db, tenantId, 'GfeItem', inOrder),
    findRows(db, tenantId, 'EncounterTreatment', inOrder),
  ]);
  if (!place) throw new Error('the clinic of an encounter is missing');
  const namesOf = (item: GfeItem, decision: 'approved' | 'declined'): string[] =>
    treatments.filter((one) => itemKey(one) === itemKey(item) && one.decision === decision).map(({ name }) => name);
  const present = identityIn(await getPatient(context, patientId));
  // Null after an erasure.
  const identity = (encounter.reviewedIdentity as Identity | null) ?? present;
  return {
    ...{ gfeNo, ...place, patientId, identity, isIdentityChanged: isOtherIdentity(identity, present), reviewerRef },
    provider: encounter.reviewedProvider as FrozenProvider | null,
    items: items.map((item) => ({
      ...item,
      approvedTreatments: namesOf(item, 'approved'),
      declinedTreatments: namesOf(item, 'declined'),
    })),
  };
}
