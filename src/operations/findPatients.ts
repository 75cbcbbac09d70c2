import type { Operation } from './operation.js';
import * as patients from '../domain/patients/patients.js';
import { pageMeta } from '../views/pageMeta.js';
import { patientView } from '../views/patientView.js';

/** GET /clients: the patient with an e-mail, as a list of zero or one (D-17). */
export const findPatients: Operation<'findPatients'> = async ({ query }, context) => {
  const found = await patients.findPatients(context, query.email);
  const onPage = query.page === 1 ? found : [];
  return { status: 200, body: { data: onPage.map(patientView), meta: pageMeta(found.length, query) } };
};
