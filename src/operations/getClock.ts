import type { Operation } from '../contract.js';
import { readClock } from '../domain/sandboxClock.js';
import { clockView } from '../views/clockView.js';

/** GET /sandbox/clock */
export const getClock: Operation<'getClock'> = async (_input, context) => ({
  status: 200,
  body: clockView(await readClock(context)),
});
