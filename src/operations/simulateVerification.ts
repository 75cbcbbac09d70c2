import type { Operation } from './operation.js';
import { simulateVerification as simulate } from '../domain/sandbox/verification.js';
import { patientRecordView } from '../views/patientView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /sandbox/clients/{id}/verification: simulates the identity verification by the real rules. */
export const simulateVerification: Operation<'simulateVerification'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const patient = await simulate(transaction, path.id, body.status);
    return { status: 200, body: patientRecordView(patient) };
  });
