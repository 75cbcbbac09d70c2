import type { Operation } from './operation.js';
import * as clinics from '../domain/catalog/clinics.js';
import { clinicView } from '../views/clinicView.js';

/** GET /clinics/{id}: one clinic. */
export const getClinic: Operation<'getClinic'> = async ({ path }, context) => ({
  status: 200,
  body: clinicView(await clinics.getClinic(context, path.id)),
});
