import type { ClinicLocation, GfeItem } from '../../../generated/prisma/client.js';
import { invalidState } from '../../problem.js';
import { itemKey } from '../catalog/itemKey.js';
import type { ShownEncounter } from '../encounters/lookup.js';
import { identityIn, isOtherIdentity, type Identity } from '../patients/identity.js';
import type { FrozenProvider } from '../providers/licences.js';
import type { ModelContext } from '../transactions/transaction.js';

/** The content of a certificate, which a clinic shows to inspectors. */
export type Certificate = Awaited<ReturnType<typeof certify>>;

/** The certificate of a completed encounter. @throws Problem invalid_state */
export async function certify({ db, caller }: ModelContext, encounter: ShownEncounter) {
  const { tenantId } = caller;
  const { id, status, gfeNo, patientId, reviewerRef } = encounter;
  if (status !== 'completed') throw invalidState(status);
  const inOrder = { where: { tenantId }, orderBy: { position: 'asc' } } as const;
  const { clinic, patient, gfeItems, treatments } = await db.prisma.encounter.findUniqueOrThrow({
    where: { tenantId_id: { tenantId, id } },
    include: {
      clinic: { include: { tenant: true, locations: { where: { tenantId, isPrimary: true } } } },
      patient: true,
      gfeItems: inOrder,
      treatments: inOrder,
    },
  });
  const [place] = clinic.locations;
  const namesOf = (item: GfeItem, decision: 'approved' | 'declined'): string[] =>
    treatments.filter((one) => itemKey(one) === itemKey(item) && one.decision === decision).map(({ name }) => name);
  const present = identityIn(patient);
  // Null after an erasure.
  const identity = (encounter.reviewedIdentity as Identity | null) ?? present;
  return {
    /** `isIdentityChanged`: whether the patient's name or birth date have changed since the review. */
    ...{ gfeNo, patientId, identity, isIdentityChanged: isOtherIdentity(identity, present), reviewerRef },
    tenantName: clinic.tenant.name,
    isSandbox: clinic.tenant.mode === 'sandbox',
    clinicName: clinic.legalName,
    /** The clinic's primary location on one line; null if there is none. */
    clinicAddress: place ? addressOf(place) : null,
    timeZone: place?.timezone ?? null,
    /** The provider as of the decision; null: not registered. */
    provider: encounter.reviewedProvider as FrozenProvider | null,
    items: gfeItems.map((item) => ({
      ...item,
      approvedTreatments: namesOf(item, 'approved'),
      /** The names of the treatments that the approval excepts. */
      declinedTreatments: namesOf(item, 'declined'),
    })),
  };
}

const addressOf = ({ address1, address2, city, state, postal }: ClinicLocation): string =>
  [address1, address2, city, `${state} ${postal}`].filter((part) => part !== null).join(', ');
