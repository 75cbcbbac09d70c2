import type { OpenAPIBackend, Operation } from 'openapi-backend';

/** What an operation returns, to be sent. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A response that breaks the contract is never sent (in tests and to sandbox tenants).
 * @throws Error that names the places and rules, not the values
 */
export function assertResponse(api: OpenAPIBackend, operation: Operation, { status, body }: Answer): void {
  const { operationId = '', responses = {} } = operation;
  // openapi-backend calls a status that the contract does not declare valid.
  if (!(status in responses)) throw new Error(`${operationId} answered ${status}, which the contract does not declare`);
  const { errors } = api.validateResponse(body, operation, status);
  if (errors) {
    const faults = errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
    throw new Error(`${operationId} ${status} breaks the contract: ${faults.join('; ')}`);
  }
}
