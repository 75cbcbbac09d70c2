import type { RequestAudit, Services } from '../../context.js';
import type { AuditRule } from './auditRule.js';
import { callerAddress } from '../listener/callerAddress.js';
import type { Request, Route } from './route.js';

/** A request as far as it has been validated: nothing else of it may be recorded. */
export interface ValidatedRequest {
  path: object;
  query: object;
  body: unknown;
}

/** What the audit says of a request, filled in as it is understood; without a rule nothing is recorded. */
export function requestAudit(
  { operationId }: Route,
  rule: AuditRule | null,
  { now, config }: Pick<Services, 'now' | 'config'>,
  req: Request,
  requestId: string,
): RequestAudit & { readonly request: ValidatedRequest } {
  const request: ValidatedRequest = { path: {}, query: {}, body: undefined };
  return {
    tenantId: null,
    clientId: null,
    patientId: null,
    isCommitted: false,
    request,
    rowOf({ status, code = null, body, isUnknown }) {
      const parts = { response: body, ...request };
      return {
        at: now(),
        tenantId: this.tenantId,
        clientId: this.clientId,
        operator: null,
        operationId,
        resourceType: rule?.resource ?? null,
        resourceId: rule?.idOf(parts) ?? null,
        patientId: rule?.patientOf(parts) ?? this.patientId,
        status,
        code,
        requestId,
        ip: callerAddress(req, config.trustedProxies),
        outcome: isUnknown ? 'unknown' : status < 400 ? 'success' : status < 500 ? 'refused' : 'failed',
        reviewerRef: rule?.reviewerOf(parts) ?? null,
        count: null,
      };
    },
  };
}
