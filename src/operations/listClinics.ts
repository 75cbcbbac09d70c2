import type { Operation } from '../contract.js';
import { listClinics as list } from '../domain/clinics.js';
import { totalPages } from '../domain/paging.js';
import { clinicView } from '../views/clinicView.js';

/** GET /clinics: the clinics that the caller may see. */
export const listClinics: Operation<'listClinics'> = async ({ query }, context) => {
  const { clinics, total, stats } = await list(context, query);
  return {
    status: 200,
    body: {
      data: clinics.map(clinicView),
      pagination: { total, page: query.page, limit: query.limit, totalPages: totalPages(total, query) },
      stats: { total: stats.active + stats.inactive, ...stats },
    },
  };
};
