import type { RequestBodyOption } from 'openapi-fetch';
import type { resources } from '../../generated/client/contract.js';
import { requests } from '../../generated/client/values.js';
import type { ElementOf } from './lists.js';
import { placed, type Arguments, type ParametersOf, type ResultOf } from './requests.js';

/** The operations by resource and name, such as `encounters.create`. */
export type Resources = { readonly [Resource in keyof resources]: Named<resources[Resource]> };

// Map by keys only: then editors show the documentation of each operation.
type Named<Operations> = {
  readonly [Name in keyof Operations]: Name extends `list${string}` | 'find'
    ? (...given: Arguments<ParametersOf<Operations[Name]>>) => AsyncGenerator<ElementOf<Operations[Name]>>
    : (
        ...given: Arguments<ParametersOf<Operations[Name]> & RequestBodyOption<Operations[Name]>>
      ) => Promise<ResultOf<Operations[Name]>>;
};

/** Sends a request and reads its response. */
export type Call = (method: string, path: string, init: object) => Promise<unknown>;
type List = (path: string, given?: object, options?: object) => AsyncGenerator;

/** The functions of {@link Resources}: `find` and `list…` iterate over elements, the others return one response. */
export function named(call: Call, list: List): Resources {
  const called = ([name, request]: [name: string, request: string]) => {
    const [method = '', path = ''] = request.split(' ');
    const one = ({ body, ...parameters }: { readonly body?: unknown } = {}, options?: object) =>
      call(method, path, { body, params: placed(path, parameters), ...options });
    const elements = (given?: object, options?: object) => list(path, given, options);
    return [name, /^(list|find$)/.test(name) ? elements : one];
  };
  const resource = (operations: Readonly<Record<string, string>>): object =>
    Object.fromEntries(Object.entries(operations).map(called)) as object;
  const all = Object.entries(requests).map(([name, operations]) => [name, resource(operations)]);
  return Object.fromEntries(all) as Resources;
}
