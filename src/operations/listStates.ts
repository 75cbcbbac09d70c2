import type { Operation } from './operation.js';
import * as states from '../domain/catalog/referenceData.js';

/** GET /reference/states: the states that a `stateId` can name. */
export const listStates: Operation<'listStates'> = async ({ query }, context) => ({
  status: 200,
  body: { data: await states.listStates(context, query.countryCode) },
});
