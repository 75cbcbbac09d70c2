import type { Operation } from '../contract.js';
import { resetSandbox as reset } from '../domain/sandboxReset.js';

/** POST /sandbox/reset: what the examples of the contract show, and nothing else. */
export const resetSandbox: Operation<'resetSandbox'> = async (_input, context) => {
  await reset(context);
  return { status: 204, body: null };
};
