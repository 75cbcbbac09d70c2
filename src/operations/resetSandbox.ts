import type { Operation } from './operation.js';
import * as sandboxReset from '../domain/sandbox/reset.js';

/** POST /sandbox/reset: restores the records of the contract's examples, and real time. */
export const resetSandbox: Operation<'resetSandbox'> = async (_input, context) => {
  const { audit } = context;
  await sandboxReset.resetSandbox(context, audit.rowOf({ status: 204 }));
  audit.isRecorded = true;
  return { status: 204, body: null };
};
