import { responseValidator } from './validators.js';

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

/** The responses of an operation by status. */
export type DeclaredResponses = Readonly<
  Record<string, { readonly content?: Readonly<Partial<Record<string, { readonly schema?: object }>>> }>
>;

const NO_CONTENT = { 'application/json': { schema: { type: 'null' } } };

/**
 * A response that breaks the contract is never sent (in tests and to sandbox tenants).
 * @throws Error that names places and rules, not values
 */
export function assertResponse(operationId: string, declared: DeclaredResponses, { status, body }: Answer): void {
  const response = declared[status];
  if (!response) throw new Error(`${operationId} answered ${status}, which the contract does not declare`);
  const { 'application/json': json } = response.content ?? NO_CONTENT;
  if (!json?.schema || responseValidator.validate(json.schema, body)) return;
  const errors = (responseValidator.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  throw new Error(`${operationId} ${status} breaks the contract: ${errors.join('; ')}`);
}
