import { exampleBody, targetOf, type ContractOperation } from './contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer } from './http.js';
import { asForm, login } from './tokens.js';

type Body = Readonly<Record<string, unknown>>;

/** A request that the contract shows, for the sandbox of its examples. */
export interface ExampleRequest {
  readonly title: string;
  readonly operation: ContractOperation;
  readonly send: (harness: Harness, partner: Partner) => Promise<Answer>;
}

/** Sends the named example of the operation's request body. */
export async function sendExample(
  harness: Harness,
  partner: Partner,
  operation: ContractOperation,
  name: string,
  mediaType = 'application/json',
): Promise<Answer> {
  const body = exampleBody(operation, name);
  const newRefreshToken = async (): Promise<string> => (await login(harness, partner)).body.refresh_token;
  const json = name === 'refresh_token' ? { ...body, refresh_token: await newRefreshToken() } : body;
  const headers = headersOf(operation);
  const sent = mediaType.includes('json')
    ? { raw: JSON.stringify(json), headers: { ...headers, 'Content-Type': mediaType } }
    : { headers, ...asForm(json as Record<string, string>) };
  return call(harness, targetOf(operation), { token: partner.token, ...sent });
}

/** Sends the examples of the operation's parameters, without a body. */
export const sendQuery = (
  harness: Harness,
  { token }: Pick<Partner, 'token'>,
  operation: ContractOperation,
  changes: Body = {},
): Promise<Answer> => call(harness, targetOf(operation, changes), { token, headers: headersOf(operation) });

/** The contract's examples of all headers of the operation, except the one that asks for a failure. */
function headersOf({ parameters }: ContractOperation): Record<string, string> {
  const headers = parameters.filter((parameter) => parameter.in === 'header' && parameter.name !== 'Sandbox-Behavior');
  return Object.fromEntries(headers.map(({ name, example }) => [name, String(example)]));
}

/** Every example of a request body in each media type, and the parameters of operations without a body. */
export const exampleRequests = (operations: readonly ContractOperation[]): ExampleRequest[] =>
  operations.flatMap((operation): ExampleRequest[] => {
    const { operationId, requestBody } = operation;
    if (!requestBody) {
      const send: ExampleRequest['send'] = (harness, partner) => sendQuery(harness, partner, operation);
      return [{ title: `${operationId}: its parameters`, operation, send }];
    }
    return Object.entries(requestBody.content).flatMap(([mediaType, { examples = {} }]) =>
      Object.keys(examples).map((name) => ({
        title: `${operationId}: ${name} as ${mediaType}`,
        operation,
        send: (harness, partner) => sendExample(harness, partner, operation, name, mediaType),
      })),
    );
  });
