import { limitsOf } from '../../src/http/endpoint/limits.js';

/** What an operation's context has of its request, for work that no request asked for. */
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
    isCommitted: false,
    rowOf: () => {
      throw new Error('nothing is audited without a request');
    },
  },
  withoutSlot: <T>(work: () => Promise<T>) => work(),
};
