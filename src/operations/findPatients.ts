import type { Operation } from '../contract.js';
import { findPatients as find } from '../domain/patients.js';
import { pageMeta } from '../views/pageMeta.js';
import { patientView } from '../views/patientView.js';

/** GET /clients: the patient with an e-mail, as a list of none or one (D-17). */
export const findPatients: Operation<'findPatients'> = async ({ query }, context) => {
  const patients = await find(context, query.email);
  const onPage = query.page === 1 ? patients : [];
  return { status: 200, body: { data: onPage.map(patientView), meta: pageMeta(patients.length, query) } };
};
