import type { Patient } from '../../../generated/prisma/client.js';
import { invalidState, Problem } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import { lockPatient } from './patients.js';
import { forEachTenantClock, type DueRow } from '../transactions/tenantClocks.js';
import type { TransactionContext } from '../transactions/transaction.js';

export type Verification = Patient['isVerified'];

/** Of one invitation. */
const MOST_REMINDERS = 3;
/** An invitation whose reminders are spent ends after so many days. */
const INVITATION_DAYS = 30;

/** What each state can become. `INVITED` again is a reminder; a verified patient stays so. */
const transitions: Readonly<Record<Verification, readonly Verification[]>> = {
  NOTVERIFIED: ['INVITED', 'VERIFIED'],
  INVITED: ['INVITED', 'VERIFIED', 'NOTVERIFIED'],
  VERIFIED: [],
};

/**
 * Records what the verification of an identity came to, and emits patient.verification_updated if the state is another.
 * @throws Problem patient_not_found; invalid_state, also after three reminders
 */
export async function recordVerification(
  context: TransactionContext,
  tenantId: string,
  id: string,
  status: Verification,
): Promise<Patient> {
  const { db } = context;
  await lockPatient(context, tenantId, id);
  const where = { tenantId_id: { tenantId, id } };
  const patient = await db.patient.findUnique({ where });
  if (!patient) throw new Problem('patient_not_found');
  const { isVerified, verifierReminderCount } = patient;
  const isReminder = isVerified === 'INVITED' && status === 'INVITED';
  if (!transitions[isVerified].includes(status) || (isReminder && verifierReminderCount >= MOST_REMINDERS)) {
    throw invalidState(isVerified);
  }
  const updatedAt = context.now();
  if (isReminder) {
    return db.patient.update({ where, data: { updatedAt, verifierReminderCount: { increment: 1 } } });
  }
  const data = { isVerified: status, updatedAt, ...(status === 'INVITED' ? invitation(context) : resultOf(status)) };
  const changed = { user_id: patient.id, isVerified: status };
  recordEvent(context, { tenantId, clinicId: null }, 'patient.verification_updated', changed);
  return db.patient.update({ where, data });
}

const invitation = ({ newId, now }: TransactionContext) => ({
  verifierJobId: newId(),
  verifierInviteSentDate: now(),
  verifierReminderCount: 0,
  verifierResultMessage: null,
});

const resultOf = (status: Verification) => ({
  verifierResultMessage: status === 'VERIFIED' ? 'verified' : 'not verified',
  verifierResponsePayload: { status },
});

/** Ends invitations 30 days after they were sent when all reminders are spent: the patient is `NOTVERIFIED` again. */
export const endInvitations = forEachTenantClock<DueRow>({
  find: ({ db, now }, isTurnOf, limit) => db.$queryRaw<DueRow[]>`
    SELECT tenant_id AS "tenantId", id FROM client
    WHERE is_verified = 'INVITED' AND verifier_reminder_count = 3
      AND verifier_invite_sent_date <= ${now()}::timestamptz - make_interval(days => ${INVITATION_DAYS}::int)
      AND ${isTurnOf('client')}
    ORDER BY verifier_invite_sent_date LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`,
  async workOff(context, { tenantId, id }) {
    await recordVerification(context, tenantId, id, 'NOTVERIFIED');
  },
});
