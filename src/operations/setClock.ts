import type { Operation } from './operation.js';
import * as sandboxClock from '../domain/sandbox/clock.js';
import { clockView } from '../views/clockView.js';

/** PUT /sandbox/clock: never moves back; processes the first batches of what is then due; jobs do the rest. */
export const setClock: Operation<'setClock'> = async ({ body }, context) => {
  const { audit } = context;
  const time = await sandboxClock.setClock(context, body.offsetSeconds, audit.rowOf({ status: 200 }));
  audit.isRecorded = true;
  return { status: 200, body: clockView(time) };
};
