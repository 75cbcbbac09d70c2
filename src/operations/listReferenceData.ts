import type { Operation } from './operation.js';
import * as referenceData from '../domain/catalog/referenceData.js';

/** GET /reference/{list}: the names behind the catalog's ids. */
export const listReferenceData: Operation<'listReferenceData'> = async ({ path }, context) => ({
  status: 200,
  body: { data: [...(await referenceData.listReferenceData(context, path.list))] },
});
