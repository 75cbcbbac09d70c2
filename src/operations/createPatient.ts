import type { Operation } from '../contract.js';
import { createPatient as create } from '../domain/patients.js';
import { patientView } from '../views/patientView.js';

/** POST /clients: never updates; an e-mail already in the tenant is a conflict. */
export const createPatient: Operation<'createPatient'> = async ({ body }, context) => {
  const patient = await create(context, body);
  return { status: 201, body: patientView(patient) };
};
