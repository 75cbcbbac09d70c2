import { isDeepStrictEqual } from 'node:util';
import { Prisma, type Patient, type RefState } from '../../../generated/prisma/client.js';
import type { Bodies, Input, Schemas } from '../../contract.js';
import { fieldProblem, Problem } from '../../problem.js';
import { requireRoom } from '../access/sandboxTenants.js';
import { visiblePatient } from './visibility.js';
import { recordEvent } from '../events/record.js';
import { checkMetadata } from './metadata.js';
import { fieldsOf, tenantInsertion } from '../transactions/bulkSql.js';
import type { LookupContext, CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';

/** The columns of a patient that creation and search return. */
const summary = [
  'id',
  'firstName',
  'lastName',
  'email',
  'dateOfBirth',
  'sex',
  'phone',
  'countryCode',
  'isVerified',
  'address1',
  'address2',
  'cityId',
  'stateId',
  'countryId',
  'postal',
  'metadata',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof Patient)[];

export type PatientSummary = Pick<Patient, (typeof summary)[number]>;

const summaryFields = fieldsOf('Patient', 'client', summary);
const patientFields = fieldsOf('Patient', 'client');

/**
 * Optional columns of a patient, which an erasure sets to null. With them, every INSERT has the same columns and so the
 * same text, which is prepared once.
 */
export const unsaid = {
  address2: null,
  cityId: null,
  stateId: null,
  countryId: null,
  gfeStateId: null,
  notes: null,
  emergencyContact: null,
  emergencyContactCode: null,
  emergencyContactName: null,
  guardian: null,
  employer: null,
  workMobile: null,
  maritalStatus: null,
  insuranceInfo: null,
  medicalHistory: null,
} satisfies Partial<Record<keyof Patient, null>>;

type Field = keyof Schemas['PatientPatch'] | keyof Bodies['CreatePatientRequest'];

/** Columns of a patient whose names differ from the request's members. */
const renamed = {
  gender: 'sex',
  address: 'address1',
  postalCode: 'postal',
  isActive: 'accountIsActive',
} as const satisfies Partial<Record<Field, keyof Patient>>;

const isRenamed = (field: Field): field is keyof typeof renamed => field in renamed;
export const columnOf = (field: Field): keyof Patient => (isRenamed(field) ? renamed[field] : field);

/** The e-mail in lower case, equal to the column `email_key`: the contract allows only ASCII addresses. */
const emailKey = (email: string): string => email.toLowerCase();

/**
 * Creates a patient and its user account, which have the same key, and emits patient.created. The unique index
 * decides whether the e-mail is free: a search before the insert would let parallel requests through.
 * @param fixed columns of a sandbox's fixture
 * @throws Problem patient_email_taken, validation_failed (dateOfBirth, metadata), sandbox_full
 */
export async function createPatient(
  context: CallerContext,
  body: Bodies['CreatePatientRequest'],
  fixed?: Pick<Patient, 'id' | 'isVerified'>,
): Promise<PatientSummary> {
  const { dateOfBirth, gender, address, postalCode, ...given } = body;
  if (given.metadata) checkMetadata(given.metadata);
  const { tenantId } = context.caller;
  const now = context.now();
  const row = {
    dateOfBirth: birthDate(dateOfBirth, now),
    ...unsaid,
    metadata: null,
    isHomeAddressSameAsShipping: true,
    ...given,
    id: context.newId(),
    sex: gender ?? null,
    address1: address ?? null,
    postal: postalCode ?? null,
    isVerified: 'NOTVERIFIED',
    createdByApiClientId: context.caller.apiClientId,
    createdAt: now,
    updatedAt: now,
    ...fixed,
  };
  await requireRoom(context, 'client');
  // ON CONFLICT DO NOTHING: a violation would abort the transaction, which must still read the existing patient.
  const [patient] = await context.db.of(tenantId).rows<PatientSummary>`
    ${tenantInsertion(tenantId, 'client', [row])} ON CONFLICT DO NOTHING RETURNING ${summaryFields}`;
  if (!patient) throw await emailTaken(context, body.email, (existing) => comparison(body, row, existing));
  recordEvent(context, { tenantId, clinicId: null }, 'patient.created', { user_id: patient.id });
  return patient;
}

/** Maximum of patients found by last name and birth date. There are no further pages, to prevent bulk listing. */
const MAX_FOUND = 100;

/**
 * Finds patients by e-mail, or by last name and birth date, in any letter case, among those that the caller may see
 * (R-89, R-239).
 * @throws Problem validation_failed
 */
export async function findPatients(
  { caller, db }: LookupContext,
  { email, lastName, dateOfBirth }: Search,
): Promise<PatientSummary[]> {
  if (email === undefined && lastName === undefined && dateOfBirth === undefined)
    throw required('email', 'unless you send lastName and dateOfBirth');
  if (lastName === undefined && dateOfBirth !== undefined) throw required('lastName', 'with dateOfBirth');
  if (lastName !== undefined && dateOfBirth === undefined) throw required('dateOfBirth', 'with lastName');
  const conditions = [
    ...(email === undefined ? [] : [Prisma.sql`client.email_key = ${emailKey(email)}`]),
    ...(lastName === undefined ? [] : [Prisma.sql`lower(client.last_name) = lower(${lastName})`]),
    ...(dateOfBirth === undefined ? [] : [Prisma.sql`client.date_of_birth = ${dateOfBirth}::date`]),
  ];
  return db.of(caller.tenantId).rows<PatientSummary>`
    SELECT ${summaryFields} FROM client
    WHERE client.tenant_id = ${caller.tenantId} AND ${Prisma.join(conditions, ' AND ')} AND ${visiblePatient(caller, 'client')}
    ORDER BY client.created_at DESC, client.id DESC LIMIT ${MAX_FOUND}`;
}

type Search = Pick<Input<'findPatients'>['query'], 'email' | 'lastName' | 'dateOfBirth'>;

const required = (parameter: keyof Search, condition: string): Problem =>
  new Problem('validation_failed', undefined, {
    errors: [{ parameter, code: 'required', detail: `is required ${condition}` }],
  });

/** A patient with the state of its address. */
export type PatientRecord = Patient & { readonly state: Omit<RefState, 'countryCode'> | null };

/** Reads a patient. @throws Problem patient_not_found, also if the caller may not see the patient */
export async function getPatient({ caller, db }: LookupContext, id: string): Promise<PatientRecord> {
  const [patient] = await db.of(caller.tenantId).rows<PatientRecord>`
    SELECT ${patientFields}, CASE WHEN state.id IS NOT NULL
      THEN json_build_object('id', state.id, 'code', state.code, 'name', state.name, 'countryId', state.country_id) END
      AS state
    FROM client LEFT JOIN ref_state AS state ON state.id = client.state_id
    WHERE client.tenant_id = ${caller.tenantId} AND client.id = ${id}::uuid AND ${visiblePatient(caller, 'client')}`;
  if (!patient) throw new Problem('patient_not_found');
  return patient;
}

/**
 * Locks a patient until the commit. Every decision about its approvals, and all news about the patient, take this lock
 * first and read the time afterwards, so that times have the order of the commits. It is a separate statement,
 * because a statement that waits for the lock reads with the snapshot from before the wait.
 */
export async function lockPatient({ db }: Pick<LookupContext, 'db'>, tenantId: string, id: string): Promise<void> {
  await db.of(tenantId).run`SELECT FROM client WHERE tenant_id = ${tenantId} AND id = ${id}::uuid FOR NO KEY UPDATE`;
}

/**
 * The problem for an e-mail that is taken. Names the existing patient only to callers who may look it up.
 * @param about gives further members about that patient
 */
export async function emailTaken(
  context: CallerContext,
  email: string,
  about: (existing: Patient) => object = () => ({}),
): Promise<Problem> {
  const [found] = context.caller.permissions.has('read:client') ? await findPatients(context, { email }) : [];
  const existing = found && (await getPatient(context, found.id));
  return new Problem('patient_email_taken', undefined, {
    errors: [{ pointer: '#/email', code: 'patient_email_taken', detail: 'is in use in your tenant' }],
    ...(existing ? { extra: { existing_user_id: existing.id, ...about(existing) } } : {}),
  });
}

/** The names of the sent fields that agree with the existing patient's, and of those that differ. */
function comparison(
  body: Bodies['CreatePatientRequest'],
  row: Partial<Record<keyof Patient, unknown>>,
  existing: Patient,
): { readonly agrees: Field[]; readonly differs: Field[] } {
  const fields = (Object.keys(body) as Field[]).filter((field) => field !== 'email');
  const isSame = (field: Field): boolean => {
    const column = columnOf(field);
    const value = row[column];
    const stored = column.endsWith('Id') && typeof value === 'string' ? canonicalUuid(value) : value;
    return isDeepStrictEqual(stored, existing[column]);
  };
  return { agrees: fields.filter(isSame), differs: fields.filter((field) => !isSame(field)) };
}

/** The date, unless it is before 1900, or in the future everywhere on earth: the latest current date is that of UTC+14. */
export function birthDate(value: string, now: Date): Date {
  const latest = new Date(now.getTime() + 14 * 3_600_000).toISOString().slice(0, 10);
  if (value >= '1900-01-01' && value <= latest) return new Date(`${value}T00:00:00.000Z`);
  throw fieldProblem('validation_failed', '#/dateOfBirth', 'must be from 1900-01-01 to today', 'range');
}
