import type { Operation } from './operation.js';
import * as patients from '../domain/patients/patients.js';
import { unlessKnown } from './entityTag.js';
import { retrievedPatientView } from '../views/patientView.js';

/** GET /clients/{id}: the patient with its user account, in full only for callers who may write patients. */
export const getPatient: Operation<'getPatient'> = async ({ path, header }, context) => {
  const patient = await patients.getPatient(context, path.id);
  const body = retrievedPatientView(patient, context.caller.permissions.has('write:client'));
  return unlessKnown(header['if-none-match'], patient.version, body);
};
