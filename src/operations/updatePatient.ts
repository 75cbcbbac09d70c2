import type { Operation } from './operation.js';
import { updateReviewStates } from '../domain/encounters/record.js';
import * as update from '../domain/patients/update.js';
import { updatedPatientView } from '../views/patientView.js';
import { entityTag, versionsOf } from './entityTag.js';
import { withIdempotency } from './withIdempotency.js';

/** PATCH /clients/{id}: a JSON merge patch. */
export const updatePatient: Operation<'updatePatient'> = ({ path, body, header }, context) =>
  withIdempotency(context, async (transaction) => {
    const patient = await update.updatePatient(transaction, path.id, body, versionsOf(header['if-match']));
    if ('stateId' in body || 'gfeStateId' in body) await updateReviewStates(transaction, patient.id);
    return { status: 200, headers: { ETag: entityTag(patient.version) }, body: updatedPatientView(patient) };
  });
