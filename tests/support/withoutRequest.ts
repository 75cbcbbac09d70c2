import { limitsOf } from '../../src/http/endpoint/limits.js';

/** The request part of an operation's context, for work outside of requests. */
export const withoutRequest = {
  requestId: '',
  authorization: undefined,
  requestLimits: limitsOf(null, { requestId: '' }, () => ''),
  routes: new Map(),
  idempotency: null,
  audit: {
    tenantId: null,
    clientId: null,
    patientId: null,
    possibleDuplicateIds: [],
    isCommitted: false,
    rowOf: () => {
      throw new Error('nothing is audited without a request');
    },
  },
  withoutSlot: <T>(work: () => Promise<T>) => work(),
  callerAddress: () => null,
  untilGone: () => new AbortController().signal,
};
