import type { Patient } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';
import type { PatientRecord, PatientSummary } from '../domain/patients/patients.js';
import { jsonObject, timestamp } from './values.js';

/** The fields of a patient that create, find, retrieve and update have in common. */
export function patientView(patient: PatientSummary): Schemas['Patient'] {
  return {
    user_id: patient.id,
    firstName: patient.firstName,
    lastName: patient.lastName,
    email: patient.email,
    dateOfBirth: patient.dateOfBirth.toISOString(),
    sex: patient.sex,
    phone: patient.phone,
    countryCode: patient.countryCode,
    isVerified: patient.isVerified,
    address1: patient.address1,
    address2: patient.address2,
    cityId: patient.cityId,
    stateId: patient.stateId,
    countryId: patient.countryId,
    postal: patient.postal,
    metadata: jsonObject(patient.metadata),
    createdAt: patient.createdAt.toISOString(),
    updatedAt: patient.updatedAt.toISOString(),
  };
}

/** The person who decides for the patient, as stored by createPatient or updatePatient. */
export const guardianView = (guardian: Patient['guardian']): Schemas['Guardian'] =>
  jsonObject(guardian) as Schemas['Guardian'];

/** A patient's common fields, with the guardian. */
export const updatedPatientView = (patient: Patient): Schemas['UpdatedPatient'] =>
  Object.assign(patientView(patient), { guardian: guardianView(patient.guardian) });

/** The patient with its user account, and, for callers who may write patients, the fields of R-281. */
export function retrievedPatientView(patient: PatientRecord, mayWrite: boolean): Schemas['RetrievedPatient'] {
  const { guardian, insuranceInfo, medicalHistory } = patient;
  const hidden = { guardian: guardianView(guardian), insuranceInfo, medicalHistory };
  return Object.assign(patientRecordView(patient), mayWrite ? hidden : {});
}

/** The patient with its user account. */
export function patientRecordView(patient: PatientRecord): Schemas['PatientRecord'] {
  return Object.assign(patientView(patient), {
    timezone: patient.timezone,
    locale: patient.locale,
    notes: patient.notes,
    emergencyContact: patient.emergencyContact,
    emergencyContactCode: patient.emergencyContactCode,
    emergencyContactName: patient.emergencyContactName,
    employer: patient.employer,
    workMobile: patient.workMobile,
    maritalStatus: patient.maritalStatus,
    gfeStateId: patient.gfeStateId,
    profileImageBlobPath: patient.profileImageBlobPath,
    isHomeAddressSameAsShipping: patient.isHomeAddressSameAsShipping,
    verifierJobId: patient.verifierJobId,
    verifierInviteSentDate: timestamp(patient.verifierInviteSentDate),
    verifierResultMessage: patient.verifierResultMessage,
    verifierResponsePayload: jsonObject(patient.verifierResponsePayload),
    verifierReminderCount: patient.verifierReminderCount,
    commsUserId: patient.commsUserId,
    state: patient.state,
    adminUser: adminUserView(patient),
  });
}

function adminUserView(patient: Patient): Schemas['AdminUser'] {
  return {
    id: patient.id,
    email: patient.email,
    phone: patient.phone,
    countryCode: patient.countryCode,
    otpExpiresAt: timestamp(patient.accountOtpExpiresAt),
    name: `${patient.firstName} ${patient.lastName}`,
    isActive: patient.accountIsActive,
    isTemporaryPassword: patient.accountIsTemporaryPassword,
    lastPasswordReset: timestamp(patient.accountLastPasswordReset),
    createdAt: patient.createdAt.toISOString(),
  };
}
