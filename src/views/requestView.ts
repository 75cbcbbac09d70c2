import type { SandboxExchange } from '../../generated/prisma/client.js';
import type { Context } from '../context.js';
import type { Schemas } from '../contract.js';

type Shown = Pick<SandboxExchange, 'at' | 'clientId' | 'operationId' | 'status' | 'code' | 'requestId'>;

export function requestView(
  { at, clientId, operationId, status, code, requestId }: Shown,
  routes: Context['routes'],
): Schemas['RequestRecord'] {
  const { method = '', path = '' } = routes.get(operationId) ?? {};
  return { at: at.toISOString(), clientId, method, path, operationId, status, code, requestId };
}

export function requestDetailView(exchange: SandboxExchange, routes: Context['routes']): Schemas['RequestDetail'] {
  const { target, requestBody, responseBody } = exchange;
  return { request: requestView(exchange, routes), target, requestBody, responseBody };
}
