import { Prisma, type Patient } from '../../../generated/prisma/client.js';
import { invalidState, Problem } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import { lockPatient } from './patients.js';
import { findRows, updateRows } from '../transactions/rows.js';
import type { TransactionContext } from '../transactions/transaction.js';

export type Verification = Patient['isVerified'];

/** The columns that an identity verification confirms. */
export const identityColumns = ['firstName', 'lastName', 'dateOfBirth'] as const satisfies readonly (keyof Patient)[];

/**
 * Values that reset a verification after a change of name or birth date: its result was for another identity.
 */
export const unverified = {
  isVerified: 'NOTVERIFIED',
  verifierResultMessage: null,
  verifierResponsePayload: null,
} satisfies Partial<Patient>;

/** By present status of a verification, the statuses that may follow. */
const transitions: Readonly<Record<Verification, readonly Verification[]>> = {
  NOTVERIFIED: ['INVITED', 'VERIFIED'],
  INVITED: ['INVITED', 'VERIFIED', 'NOTVERIFIED'],
  VERIFIED: [],
};

/**
 * Records the invitation to an identity verification, or its result, and emits patient.verification_updated if the
 * status changes.
 * @throws Problem patient_not_found, invalid_state
 */
export async function recordVerification(
  context: TransactionContext,
  tenantId: string,
  id: string,
  status: Verification,
): Promise<Patient> {
  const { db } = context;
  await lockPatient(context, tenantId, id);
  const isPatient = Prisma.sql`id = ${id}::uuid`;
  const [patient] = await findRows(db, tenantId, 'Patient', isPatient);
  if (!patient) throw new Problem('patient_not_found');
  const { isVerified } = patient;
  if (!transitions[isVerified].includes(status)) throw invalidState(isVerified);
  if (status !== isVerified) {
    const changed = { user_id: patient.id, isVerified: status };
    recordEvent(context, { tenantId, clinicId: null }, 'patient.verification_updated', changed);
  }
  const result = status === 'INVITED' ? invitation(context) : resultOf(status);
  const change = { ...result, isVerified: status, updatedAt: context.now() };
  await updateRows(db, tenantId, 'Patient', change, isPatient);
  return { ...patient, ...change };
}

const invitation = ({ newId, now }: TransactionContext) => ({
  verifierJobId: newId(),
  verifierInviteSentDate: now(),
  verifierResultMessage: null,
});

const resultOf = (status: Verification) => ({
  verifierResultMessage: status === 'VERIFIED' ? 'verified' : 'not verified',
  verifierResponsePayload: { status },
});
