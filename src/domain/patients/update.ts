import { isDeepStrictEqual } from 'node:util';
import { Prisma, type Patient } from '../../../generated/prisma/client.js';
import { isUniqueViolation } from '../../adapters/database/databaseErrors.js';
import type { Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import { updateRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { patchedMetadata } from './metadata.js';
import { birthDate, columnOf, emailTaken, getPatient, lockPatient } from './patients.js';
import { identityColumns, unverified } from './verification.js';

type Patch = Schemas['PatientPatch'];

/**
 * Applies a merge patch, and emits patient.updated with the names of the changed fields. Locks the patient
 * first, because approvals depend on its facts. A new name or birth date ends a verification.
 * @param isExpected whether the request may change this version
 * @throws Problem patient_not_found, version_conflict, patient_email_taken, validation_failed (dateOfBirth, metadata)
 */
export async function updatePatient(
  context: CallerContext,
  id: string,
  patch: Patch,
  isExpected: (version: number) => boolean,
): Promise<Patient> {
  await lockPatient(context, context.caller.tenantId, id);
  const patient = await getPatient(context, id);
  if (!isExpected(patient.version)) throw new Problem('version_conflict');
  const now = context.now();
  const wanted = (Object.entries(patch) as [keyof Patch, unknown][]).map(([field, value]) => {
    const column = columnOf(field);
    return { field, column, value: storedValue(column, value, patient, now) };
  });
  const changes = wanted.filter(({ column, value }) => !isDeepStrictEqual(value, patient[column]));
  if (changes.length === 0) return patient;
  const { tenantId } = patient;
  const isUnverified =
    patient.isVerified === 'VERIFIED' && changes.some(({ column }) => identityColumns.some((one) => one === column));
  const values = Object.fromEntries(changes.map(({ column, value }) => [column, value]));
  const data = { ...values, ...(isUnverified ? unverified : {}), updatedAt: now };
  const { db } = context;
  // Use a savepoint: after a violation of the unique e-mail, the transaction must still read the existing patient.
  await db
    .savepoint(() => updateRows(db, tenantId, 'Patient', data, Prisma.sql`id = ${patient.id}::uuid`))
    .catch(async (error: unknown) => {
      if (!isUniqueViolation(error, 'client_tenant_id_email_key_key')) throw error;
      throw await emailTaken(context, patch.email ?? '');
    });
  const changed = changes.map(({ field }) => field);
  recordEvent(context, { tenantId, clinicId: null }, 'patient.updated', { user_id: patient.id, changed });
  if (isUnverified) {
    const verification = { user_id: patient.id, isVerified: unverified.isVerified };
    recordEvent(context, { tenantId, clinicId: null }, 'patient.verification_updated', verification);
  }
  return getPatient(context, id);
}

function storedValue(column: keyof Patient, value: unknown, patient: Patient, now: Date): unknown {
  // A patch may send the date as responses show it, with a time (D-295).
  if (column === 'dateOfBirth') return birthDate(String(value).slice(0, 10), now);
  if (column === 'isHomeAddressSameAsShipping') return value ?? true;
  if (column === 'metadata') return patchedMetadata(patient.metadata, value);
  return column.endsWith('Id') && typeof value === 'string' ? canonicalUuid(value) : value;
}
