import type { Operation } from './operation.js';
import * as clinics from '../domain/catalog/clinics.js';
import { totalPages } from '../views/pageMeta.js';
import { clinicView } from '../views/clinicView.js';

/** GET /clinics: the clinics that the caller may see. */
export const listClinics: Operation<'listClinics'> = async ({ query }, context) => {
  const { rows, total, stats } = await clinics.listClinics(context, query);
  const pagination = { total, page: query.page, limit: query.limit, totalPages: totalPages(total, query) };
  return {
    status: 200,
    body: { data: rows.map(clinicView), pagination, stats: { total: stats.active + stats.inactive, ...stats } },
  };
};
