import type { Operation } from './operation.js';
import * as encounterList from '../domain/encounters/list.js';
import { cursorPage } from '../views/cursorPage.js';
import { encounterView } from '../views/encounterView.js';

/** GET /encounters: newest first. */
export const listEncounters: Operation<'listEncounters'> = async ({ query }, context) => {
  const page = await encounterList.listEncounters(context, query);
  const now = context.now();
  return { status: 200, body: cursorPage(page, (encounter) => encounterView(encounter, now)) };
};
