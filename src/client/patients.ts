import type { components } from '../../generated/client/contract.js';
import { ApiError } from './errors.js';
import type { Resources } from './resources.js';

type Patient = components['schemas']['Patient'];
type Patients = Resources['patients'];

/** The fields that identify a person. */
const identity: readonly string[] = ['firstName', 'lastName', 'dateOfBirth'];

/** The e-mail belongs to the patient `existing_user_id`, whose name or birth date differs; see `differs`. */
export class PatientMismatchError extends ApiError {
  override readonly name = 'PatientMismatchError';
  override readonly message =
    'The e-mail belongs to a patient with another name or birth date, existing_user_id. Ask which values are right, and correct yours or theirs; another person needs another e-mail.';
}

export interface FindOrCreate {
  /**
   * Creates a patient, or returns the patient of your tenant who has this e-mail, name and birth date. Changes no
   * existing patient.
   * @throws PatientMismatchError if the patient with this e-mail has another name or birth date
   * @throws ApiError as `create` and `get`; `patient_email_taken` only if your client may not read that patient
   */
  findOrCreate(...given: Parameters<Patients['create']>): Promise<Patient>;
}

export const findOrCreate =
  ({ create, get }: Patients): FindOrCreate['findOrCreate'] =>
  async (...given) => {
    try {
      return await create(...given);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'patient_email_taken') throw error;
      const { existing_user_id: id, differs, response, body } = error;
      if (id === null || differs === null) throw error;
      if (differs.some((field) => identity.includes(field))) throw new PatientMismatchError(response, body);
      return get({ id }, given[1]);
    }
  };
