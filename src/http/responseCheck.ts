import type { ValidateFunction } from 'ajv';

/** What an operation returns, to be sent. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Elements of a list that are checked in a sandbox: more would take the processor from other tenants. */
const SAMPLE = 4;

/** The response with elements from all over its list, if it has a long one. */
export function sampled(answer: Answer): Answer {
  const { data, ...rest } = Object(answer.body) as { readonly data?: unknown };
  if (!Array.isArray(data) || data.length <= SAMPLE) return answer;
  const elementAt = (_: unknown, index: number): unknown => data[Math.floor((index * data.length) / SAMPLE)];
  return { ...answer, body: { ...rest, data: Array.from({ length: SAMPLE }, elementAt) } };
}

/**
 * A response that breaks the contract is never sent (in tests and to sandbox tenants).
 * @param declared the responses that the contract has for the operation, by status, as `validators` have their bodies
 * @throws Error that names the places and rules, not the values
 */
export function assertResponse(
  operationId: string,
  declared: object,
  validators: Readonly<Record<string, ValidateFunction | undefined>>,
  { status, body }: Answer,
): void {
  if (!(status in declared)) throw new Error(`${operationId} answered ${status}, which the contract does not declare`);
  const validate = validators[status];
  if (!validate || validate(body)) return;
  const faults = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  throw new Error(`${operationId} ${status} breaks the contract: ${faults.join('; ')}`);
}
