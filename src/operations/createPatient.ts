import type { Operation } from './operation.js';
import * as patients from '../domain/patients/patients.js';
import { patientView } from '../views/patientView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /clients: never updates; an e-mail that the tenant already has is a conflict. */
export const createPatient: Operation<'createPatient'> = ({ body }, context) =>
  withIdempotency(context, async (transaction) => {
    const patient = await patients.createPatient(transaction, body);
    return { status: 201, headers: { Location: `/clients/${patient.id}` }, body: patientView(patient) };
  });
