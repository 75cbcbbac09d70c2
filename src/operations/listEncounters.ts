import type { Operation } from './operation.js';
import * as encounterList from '../domain/encounters/list.js';
import { encounterView } from '../views/encounterView.js';

/** GET /encounters: newest first. */
export const listEncounters: Operation<'listEncounters'> = async ({ query }, context) => {
  const { rows, nextCursor } = await encounterList.listEncounters(context, query);
  const now = context.now();
  const data = rows.map((encounter) => encounterView(encounter, now));
  return { status: 200, body: { data, next_cursor: nextCursor, has_more: nextCursor !== null } };
};
