import type { components, operations, Scope } from '../generated/openapi.js';

// Everything here is derived from the contract: nothing may be written down a second time.

export type OperationId = keyof operations;
export type Schemas = components['schemas'];
export type ProblemCode = Schemas['ProblemCode'];
/** A permission: a scope of the security scheme. */
export type Permission = Scope;
export type OAuthErrorCode = Schemas['OAuthError']['error'];

/** Types of events: one that the contract does not list does not compile. */
export type EventType = Schemas['Event']['type'];
/** The data of an event of this type: the schema of an event is named after its type. */
export type EventDataOf<Type extends EventType> = Schemas[Type]['data'];
export type EncounterState = Schemas['Encounter']['status'];

/** A request's body as the code gets it: a null in an optional field counts as absent, and http/ leaves it out. */
type WithoutNulls<T> = T extends readonly (infer Element)[]
  ? WithoutNulls<Element>[]
  : T extends object
    ? {
        [Key in keyof T]: Partial<Pick<T, Key>> extends Pick<T, Key>
          ? WithoutNulls<NonNullable<T[Key]>>
          : WithoutNulls<T[Key]>;
      }
    : T;

/** The bodies of requests, by the names of their schemas. */
export type Bodies = {
  [Name in keyof Schemas as Name extends `${string}Request` ? Name : never]: WithoutNulls<Schemas[Name]>;
};

type OrEmpty<T> = [T] extends [never] ? Record<string, never> : T;
type Parameters<Id extends OperationId, In extends 'path' | 'query'> = OrEmpty<
  NonNullable<operations[Id]['parameters'][In]>
>;
/** In a merge patch a null clears a field (RFC 7396). */
type BodyOf<Id extends OperationId> = operations[Id] extends {
  requestBody: { content: { 'application/merge-patch+json': infer Patch } };
}
  ? Patch
  : operations[Id] extends { requestBody: { content: { 'application/json': infer Body } } }
    ? WithoutNulls<Body>
    : undefined;

/** A request that is authenticated, authorised, validated, coerced and filled with the contract's defaults. */
export interface Input<Id extends OperationId> {
  readonly path: Parameters<Id, 'path'>;
  readonly query: Parameters<Id, 'query'>;
  readonly body: BodyOf<Id>;
}

/** The responses of an operation, by status. */
export type Responses<Id extends OperationId> = operations[Id]['responses'];
/** Bytes for a PDF, `null` for an answer without a body (204). */
type Json<Response> = Response extends { content: { 'application/json': infer Body } }
  ? Body
  : Response extends { content: { 'application/pdf': unknown } }
    ? Uint8Array
    : null;
/** Failures are thrown, so their statuses cannot be returned. */
type ReturnedStatus<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: Json<Responses<Id>[Status]> extends Schemas['Problem'] | Schemas['OAuthError']
    ? never
    : Status;
}[keyof Responses<Id>];

/** Headers that http/ sets by itself. */
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

/** An answer that the contract declares for the operation, one of its statuses with the body of that status. */
export type Output<Id extends OperationId> = {
  [Status in ReturnedStatus<Id>]: { readonly status: Status; readonly body: Json<Responses<Id>[Status]> } & WithHeaders<
    Responses<Id>[Status]
  >;
}[ReturnedStatus<Id>];
