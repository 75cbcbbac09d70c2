import type { Operation } from './operation.js';
import * as patients from '../domain/patients/patients.js';
import { Problem } from '../problem.js';
import { patientView } from '../views/patientView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /clients: never updates; an e-mail that the tenant already has is a conflict. */
export const createPatient: Operation<'createPatient'> = ({ body }, context) =>
  withIdempotency(context, async (transaction) => {
    const patient = await patients.createPatient(transaction, body).catch((error: unknown) => {
      // The problem compares the request with the existing patient, so the audit row names that patient.
      const existing = error instanceof Problem ? error.extra['existing_user_id'] : undefined;
      context.audit.patientId = typeof existing === 'string' ? existing : null;
      throw error;
    });
    return { status: 201, body: patientView(patient) };
  });
