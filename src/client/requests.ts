import { headerParameters } from '../../generated/client/values.js';

/** The options of `fetch` that a call accepts. */
interface CallOptions {
  readonly signal?: AbortSignal;
}

export type Arguments<Given> =
  Partial<Given> extends Given ? [init?: Given, options?: CallOptions] : [init: Given, options?: CallOptions];

/** The body of an operation's successful response. */
export type ResultOf<Operation> = Operation extends { responses: infer Responses }
  ? BodyOf<Responses[keyof Responses & (200 | 201 | 202 | 204)]>
  : never;
// Replaces openapi-fetch's type, in which the values of an open vocabulary are objects instead of strings.
type BodyOf<Success> = Success extends { content: infer Content }
  ? Content extends { 'application/json': infer Json }
    ? Json
    : Uint8Array<ArrayBuffer>
  : undefined;

/** The path, query and header parameters of an operation, by name. */
export type ParametersOf<Operation> = Operation extends {
  parameters: { query?: infer Query; path?: infer InPath; header?: infer Header };
}
  ? Named<Query> & Named<InPath> & Named<Header>
  : never;
type Named<Parameters> = [NonNullable<Parameters>] extends [never] ? object : NonNullable<Parameters>;

/** Distributes parameters to path, query and header. */
export function placed(path: string, parameters: object): { path: object; query: object; header: object } {
  const those = (belong: (name: string) => boolean): object =>
    Object.fromEntries(Object.entries(parameters).filter(([name]) => belong(name)));
  const isInHeader = (name: string): boolean => headerParameters.some((one) => one === name);
  const isInPath = (name: string): boolean => path.includes(`{${name}}`);
  const query = those((name) => !isInPath(name) && !isInHeader(name));
  return { path: those(isInPath), query, header: those(isInHeader) };
}
