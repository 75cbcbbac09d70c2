import type { Operation } from '../contract.js';
import { getPatient as get } from '../domain/patients.js';
import { patientRecordView } from '../views/patientView.js';

/** GET /clients/{id}: the whole patient with its user account. */
export const getPatient: Operation<'getPatient'> = async ({ path }, context) => {
  const { patient, state } = await get(context, path.id);
  return { status: 200, body: patientRecordView(patient, state) };
};
