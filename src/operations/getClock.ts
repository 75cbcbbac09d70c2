import type { Operation } from './operation.js';
import { readClock } from '../domain/sandbox/clock.js';
import { clockView } from '../views/clockView.js';

/** GET /sandbox/clock: the sandbox's time. */
export const getClock: Operation<'getClock'> = async (_input, context) => ({
  status: 200,
  body: clockView(await readClock(context)),
});
