import type { Operation } from './operation.js';
import * as patients from '../domain/patients/patients.js';
import { pageMeta } from '../views/pageMeta.js';
import { patientView } from '../views/patientView.js';

/** GET /clients: by e-mail, or by last name and birth date. */
export const findPatients: Operation<'findPatients'> = async ({ query }, context) => {
  const found = await patients.findPatients(context, query);
  const onPage = found.slice((query.page - 1) * query.limit, query.page * query.limit);
  return { status: 200, body: { data: onPage.map(patientView), meta: pageMeta(found.length, query) } };
};
