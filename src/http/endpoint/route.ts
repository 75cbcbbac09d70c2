import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Usage } from '../../adapters/limits/limits.js';
import type { Caller, Services } from '../../context.js';
import type { OperationId } from '../../contract.js';
import type { Problem } from '../../problem.js';
import { callerAddress } from '../listener/callerAddress.js';

/** The operation that a request matched, with its path template: the path could hold health data. */
export interface Route {
  readonly operationId: OperationId;
  readonly path: string;
}

/** The delay and problem that a sandbox tenant requests for one of its requests. */
export interface Behavior {
  readonly delayMs: number;
  /** Replaces the operation; null = runs it. */
  readonly problem: Problem | null;
}

/** The state of a request, for its log line and its error response. Express keeps the object. */
export interface Locals {
  readonly requestId: string;
  /** From the caller's `traceparent` (W3C) or the request's span. */
  traceId?: string | undefined;
  route?: Route;
  caller?: Caller | undefined;
  /** The caller's address, which a cell has stated that passed the request on (D-336). */
  statedAddress?: string | null;
  /** The use of the limit that the request counted against last. */
  usage?: Usage;
  /** The code of the problem response. */
  code?: string;
  /** Requested in a sandbox: its problem is not logged as an error, and the metrics exclude its delay. */
  behavior?: Behavior;
  /** The error that Express translates into the response. */
  failure?: unknown;
}

export type Response = ServerResponse & { locals: Locals };
export type Request = IncomingMessage;

/** The address of the caller, even of a request that another cell passed on. */
export const addressOf = (
  req: Request,
  { statedAddress }: Locals,
  { trustedProxies }: Services['config'],
): string | null => statedAddress ?? callerAddress(req, trustedProxies);

/** Whether the caller has hung up. A FIN counts, because Node then ends the connection, too. */
export const hasGone = ({ socket }: Request): boolean => !socket.writable;

/** The fields that every log line about a request has. */
export function logIdsOf({ locals }: { readonly locals: object }): { requestId: string; trace_id: string | undefined } {
  const { requestId, traceId } = locals as Locals;
  return { requestId, trace_id: traceId };
}
