import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Usage } from '../../adapters/limits/limits.js';
import type { Caller } from '../../context.js';
import type { OperationId } from '../../contract.js';
import type { Problem } from '../../problem.js';

/** What is known of a request once it is matched: the path template, never the path itself. */
export interface Route {
  readonly operationId: OperationId;
  readonly path: string;
}

/** What a sandbox tenant wants to happen to one of its requests. */
export interface Behavior {
  readonly delayMs: number;
  /** Instead of what the operation does. */
  readonly problem: Problem | null;
}

/** What is known of a request so far, for its log line and for failures. Express leaves it as it is. */
export interface Locals {
  readonly requestId: string;
  /** Of the caller's `traceparent` (W3C), or of the request's span. */
  traceId?: string | undefined;
  route?: Route;
  caller?: Caller | undefined;
  /** Of the limit that it counted against last. */
  usage?: Usage;
  /** The code of the problem that it was refused with. */
  code?: string;
  /** What it asked for in a sandbox: no failure of the service, and no time that it needed. */
  behavior?: Behavior;
  /** What ended it: Express has to make the response of it. */
  failure?: unknown;
}

export type Response = ServerResponse & { locals: Locals };
export type Request = IncomingMessage;

/** Whether the caller has hung up: a FIN counts, because Node then ends the connection, too. */
export const hasGone = ({ socket }: Request): boolean => !socket.writable;

/** What every line of the log about a request has. */
export function logIdsOf({ locals }: { readonly locals: object }): { requestId: string; trace_id: string | undefined } {
  const { requestId, traceId } = locals as Locals;
  return { requestId, trace_id: traceId };
}
