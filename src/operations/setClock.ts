import type { Operation } from './operation.js';
import * as sandboxClock from '../domain/sandbox/clock.js';
import { clockView } from '../views/clockView.js';

/** PUT /sandbox/clock: forward only; what is due then has happened when it answers, or its beginning. */
export const setClock: Operation<'setClock'> = async ({ body }, context) => ({
  status: 200,
  body: clockView(await sandboxClock.setClock(context, body.offsetSeconds)),
});
