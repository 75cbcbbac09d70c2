import type { Patient, Prisma, RefState } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import type { CallerContext, ReadContext } from '../transactions/transaction.js';

/** The e-mail without regard to case: the same fold as the column `email_key`. Addresses are ASCII (contract). */
const emailKey = (email: string): string => email.toLowerCase();

/**
 * Creates a patient and its user account, which share the key (D-40), and emits patient.created.
 * The unique index decides whether the e-mail is free: a search before the insert would let parallel requests through.
 * @param context of a transaction, for the event
 * @throws Problem patient_email_taken, validation_failed (dateOfBirth)
 */
export async function createPatient(context: CallerContext, body: Schemas['CreatePatientRequest']): Promise<Patient> {
  const { dateOfBirth, gender, address, postalCode, ...given } = body;
  const { tenantId } = context.caller;
  const now = context.now();
  const data: Prisma.PatientCreateManyInput = {
    isHomeAddressSameAsShipping: true,
    ...given,
    id: context.newId(),
    tenantId,
    dateOfBirth: birthDate(dateOfBirth, now),
    sex: gender ?? null,
    address1: address ?? null,
    postal: postalCode ?? null,
    isVerified: 'NOTVERIFIED',
    createdAt: now,
    updatedAt: now,
    ...context.fixed?.patient,
  };
  // ON CONFLICT DO NOTHING: a violation would end the transaction, in which the other patient is looked up.
  const [patient] = await context.db.patient.createManyAndReturn({ data: [data], skipDuplicates: true });
  if (!patient) throw await emailTaken(context, body.email);
  recordEvent(context, { tenantId, clinicId: null }, 'patient.created', { user_id: patient.id });
  return patient;
}

/** The patient with that e-mail, whatever its case: none or one (D-17). */
export async function findPatients(context: Context, email: string): Promise<Patient[]> {
  const patient = await byEmail(context, email);
  return patient ? [patient] : [];
}

/**
 * A patient with the reference data of its state (D-02).
 * @throws Problem patient_not_found, also for another tenant's patient
 */
export async function getPatient(context: Context, id: string): Promise<{ patient: Patient; state: RefState | null }> {
  const { tenantId } = context.caller;
  const patient = await context.db.patient.findUnique({ where: { tenantId_id: { tenantId, id } } });
  if (!patient) throw new Problem('patient_not_found');
  return { patient, state: patient.stateId ? await stateOf(context, patient.stateId) : null };
}

/**
 * Locks a patient until commit. Everything that decides about its approvals, or that they depend on, does so first and
 * reads the time afterwards; so these changes are in one order, and their times too.
 */
export async function lockPatient({ db, caller }: CallerContext, id: string): Promise<void> {
  const { tenantId } = caller;
  await db.$executeRaw`SELECT FROM client WHERE tenant_id = ${tenantId} AND id = ${id}::uuid FOR NO KEY UPDATE`;
}

/** Of each database, by id: reference data changes with a release only. */
const knownStates = new WeakMap<object, Map<string, RefState>>();

async function stateOf({ db }: Context, id: string): Promise<RefState | null> {
  const known = knownStates.get(db) ?? new Map<string, RefState>();
  knownStates.set(db, known);
  const state = known.get(id) ?? (await db.refState.findUnique({ where: { id } }));
  if (state) known.set(id, state);
  return state;
}

function byEmail(context: ReadContext, email: string): Promise<Patient | null> {
  const { tenantId } = context.caller;
  return context.db.patient.findUnique({ where: { tenantId_emailKey: { tenantId, emailKey: emailKey(email) } } });
}

/** Names the existing patient only to a caller who could look it up anyway (D-44). */
async function emailTaken(context: CallerContext, email: string): Promise<Problem> {
  const existing = context.caller.permissions.has('read:client') ? await byEmail(context, email) : null;
  return new Problem('patient_email_taken', undefined, {
    errors: [{ pointer: '#/email', code: 'patient_email_taken', detail: 'is in use in your tenant' }],
    ...(existing ? { extra: { existing_user_id: existing.id } } : {}),
  });
}

/** Not in the future anywhere on earth: the latest date that has begun is that of UTC+14. */
function birthDate(value: string, now: Date): Date {
  const latest = new Date(now.getTime() + 14 * 3_600_000).toISOString().slice(0, 10);
  if (value >= '1900-01-01' && value <= latest) return new Date(`${value}T00:00:00.000Z`);
  throw new Problem('validation_failed', undefined, {
    errors: [{ pointer: '#/dateOfBirth', code: 'range', detail: 'must be from 1900-01-01 to today' }],
  });
}
