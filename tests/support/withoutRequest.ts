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
    isRecorded: false,
    rowOf: () => {
      throw new Error('withoutRequest has no audit row: send this operation as a request to a harness');
    },
  },
  withoutSlot: <T>(work: () => Promise<T>) => work(),
  callerAddress: () => null,
  untilGone: () => new AbortController().signal,
};
