import type { Context } from '../context.js';
import type { Schemas } from '../contract.js';
import type { RequestRow } from '../domain/sandbox/requests.js';

export function requestView(
  { at, clientId, operationId, status, code, requestId }: RequestRow,
  routes: Context['routes'],
): Schemas['RequestRecord'] {
  const { method = '', path = '' } = routes.get(operationId) ?? {};
  return { at: at.toISOString(), clientId, method, path, operationId, status, code, requestId };
}
