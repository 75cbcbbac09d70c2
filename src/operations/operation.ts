import type { Context, PublicContext } from '../context.js';
import type { Input, OperationId, Output, Responses } from '../contract.js';

/** Secured operations are those with a 403 response; the contract tests compare them with `security`. */
type ContextOf<Id extends OperationId> = Responses<Id> extends { 403: unknown } ? Context : PublicContext;

export type Operation<Id extends OperationId> = (input: Input<Id>, context: ContextOf<Id>) => Promise<Output<Id>>;
export type Operations = { readonly [Id in OperationId]: Operation<Id> };
