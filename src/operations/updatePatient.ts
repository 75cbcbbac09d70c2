import type { Operation } from './operation.js';
import * as update from '../domain/patients/update.js';
import { updatedPatientView } from '../views/patientView.js';
import { withIdempotency } from './withIdempotency.js';

/** PATCH /clients/{id}: a JSON merge patch; the only operation that changes a patient. */
export const updatePatient: Operation<'updatePatient'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const patient = await update.updatePatient(transaction, path.id, body);
    return { status: 200, body: updatedPatientView(patient) };
  });
