import type { Operation } from '../contract.js';
import { once } from '../domain/idempotency.js';
import { createPatient as create } from '../domain/patients.js';
import { patientView } from '../views/patientView.js';

/** POST /clients: never updates; an e-mail already in the tenant is a conflict. */
export const createPatient: Operation<'createPatient'> = ({ body }, context) =>
  once(context, async (transaction) => ({ status: 201, body: patientView(await create(transaction, body)) }));
