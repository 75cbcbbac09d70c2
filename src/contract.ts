import type { components, operations, Scope } from '../generated/openapi.js';

// Derive everything from the contract; repeat nothing here.

export type OperationId = keyof operations;
export type Schemas = components['schemas'];
export type ProblemCode = Schemas['ProblemCode'];
export type Permission = Scope;
export type OAuthErrorCode = Schemas['OAuthError']['error'];

/** The types of events; others do not compile. */
export type EventType = Schemas['EventType'];
/** The data of an event; its schema has the name of the type. */
export type EventDataOf<Type extends EventType> = Schemas[Type]['data'];
export type EncounterState = Schemas['Encounter']['status'];

/** A body that is no merge patch, as operations receive it: without nulls of optional fields, which count as absent. */
type WithoutNulls<T> = T extends readonly (infer Element)[]
  ? WithoutNulls<Element>[]
  : T extends object
    ? {
        [Key in keyof T]: Partial<Pick<T, Key>> extends Pick<T, Key>
          ? WithoutNulls<NonNullable<T[Key]>>
          : WithoutNulls<T[Key]>;
      }
    : T;

export type Bodies = {
  [Name in keyof Schemas as Name extends `${string}Request` ? Name : never]: WithoutNulls<Schemas[Name]>;
};

type OrEmpty<T> = [T] extends [never] ? Record<string, never> : T;
type Parameters<Id extends OperationId, In extends 'path' | 'query' | 'header'> = OrEmpty<
  NonNullable<operations[Id]['parameters'][In]>
>;
/** Headers under lower-case names, in which Node gives them. */
type LowerCased<Headers> = { readonly [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name] };
/** The body of an operation's request. A merge patch keeps its nulls, which clear fields (RFC 7396). */
type BodyOf<Id extends OperationId> = operations[Id] extends {
  requestBody: { content: { 'application/merge-patch+json': infer Patch } };
}
  ? Patch
  : operations[Id] extends { requestBody: { content: { 'application/json': infer Body } } }
    ? WithoutNulls<Body>
    : undefined;

/** A request after authentication, authorization, validation, coercion and defaults. */
export interface Input<Id extends OperationId> {
  readonly path: Parameters<Id, 'path'>;
  readonly query: Parameters<Id, 'query'>;
  readonly header: LowerCased<Parameters<Id, 'header'>>;
  readonly body: BodyOf<Id>;
}

export type Responses<Id extends OperationId> = operations[Id]['responses'];
/** The body of a response in code: its JSON, bytes for a PDF, `null` for a response without body (204). */
type Json<Response> = Response extends { content: { 'application/json': infer Body } }
  ? Body
  : Response extends { content: { 'application/pdf': unknown } }
    ? Uint8Array
    : null;
/** The statuses that an operation returns. Errors are not among them, because code throws those. */
type ReturnedStatus<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: Json<Responses<Id>[Status]> extends Schemas['Problem'] | Schemas['OAuthError']
    ? never
    : Status;
}[keyof Responses<Id>];

/** Response headers that operations do not return: src/http and, for the last one, withIdempotency.ts set them. */
type CommonHeader =
  | 'X-Request-Id'
  | 'API-Version'
  | 'Cache-Control'
  | 'RateLimit-Policy'
  | 'RateLimit'
  | 'Retry-After'
  | 'Idempotent-Replayed';
type OwnHeaders<Response> = Response extends { headers: infer Headers }
  ? { [Name in keyof Headers as string extends Name ? never : Name extends CommonHeader ? never : Name]: string }
  : never;
type WithHeaders<Response> = keyof OwnHeaders<Response> extends never
  ? { readonly headers?: never }
  : { readonly headers: OwnHeaders<Response> };

/** A response that the contract declares for the operation: a status with its body. */
export type Output<Id extends OperationId> = {
  [Status in ReturnedStatus<Id>]: { readonly status: Status; readonly body: Json<Responses<Id>[Status]> } & WithHeaders<
    Responses<Id>[Status]
  >;
}[ReturnedStatus<Id>];
