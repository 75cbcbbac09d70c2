import type { ClinicLocation } from '../../../generated/prisma/client.js';
import { invalidState, Problem } from '../../problem.js';
import type { Reads } from '../../adapters/database/database.js';
import { standing, type Decided, type Standing } from '../approvals/coverage.js';
import { itemKey } from '../catalog/itemKey.js';
import type { DetailedEncounter } from '../encounters/lookup.js';
import { reviewedIdentity } from '../patients/identity.js';
import type { FrozenProvider } from '../providers/licenses.js';
import { aheadOf, type ModelContext } from '../transactions/transaction.js';
import { onlyUuid } from '../transactions/uuid.js';

/** The content of a certificate, which a clinic shows to inspectors. */
export type Certificate = Awaited<ReturnType<typeof certify>>;

/** Reads the content of a completed encounter's certificate. @throws Problem invalid_state */
export async function certify({ db, caller }: ModelContext, encounter: DetailedEncounter) {
  const { tenantId } = caller;
  const { id, status, gfeNo, patientId, reviewerRef } = encounter;
  if (status !== 'completed') throw invalidState(status, 'Only completed encounters have a certificate.');
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
  return {
    ...{ gfeNo, patientId, reviewerRef },
    ...reviewedIdentity(encounter, patient),
    code: `${tenantId}.${id}`,
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
      treatments: treatments.filter((one) => itemKey(one) === itemKey(item)),
    })),
  };
}

const addressOf = ({ address1, address2, city, state, postal }: ClinicLocation): string =>
  [address1, address2, city, `${state} ${postal}`].filter((part) => part !== null).join(', ');

/**
 * The present status of a certificate.
 * @param code the tenant and the encounter's id, whose random bits cannot be guessed
 * @throws Problem certificate_not_found
 */
export async function verifyCertificate({ db, now }: { readonly db: Reads; readonly now: () => Date }, code: string) {
  const [tenantId = '', id = ''] = code.split('.');
  if (!onlyUuid.test(id)) throw new Problem('certificate_not_found');
  const encounter = await db.prisma.encounter.findUnique({
    where: { tenantId_id: { tenantId, id } },
    include: { treatments: true, clinic: { include: { tenant: true } } },
  });
  if (encounter?.status !== 'completed') throw new Problem('certificate_not_found');
  const { gfeNo, clinic, treatments } = encounter;
  const { tenant } = clinic;
  const at = aheadOf(now, Number(tenant.clockOffsetMs))();
  const standings = treatments.map((treatment) => standing(treatment, at));
  return { gfeNo, clinicName: clinic.legalName, tenant, status: worthOf(standings), validUntil: endOf(treatments, at) };
}

/** A certificate has the status of its best approval. A completed encounter has at least one. */
function worthOf(standings: readonly Standing[]): 'valid' | 'expired' | 'revoked' {
  if (standings.includes('approved')) return 'valid';
  return standings.includes('expired') ? 'expired' : 'revoked';
}

/** The last end of the approvals in force; null = none is in force, or one has no end. */
function endOf(treatments: readonly Decided[], at: Date): Date | null {
  const ends = treatments.filter((one) => standing(one, at) === 'approved').map(({ validUntil }) => validUntil);
  return ends.length === 0 || ends.includes(null) ? null : new Date(Math.max(...ends.map(Number)));
}
