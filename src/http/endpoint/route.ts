import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Usage } from '../../adapters/limits/limits.js';
import type { Caller, Services } from '../../context.js';
import type { OperationId } from '../../contract.js';
import type { Problem } from '../../problem.js';
import { callerAddress } from '../listener/callerAddress.js';

/** The operation of a request. `path` is the template, because the actual path could contain health data. */
export interface Route {
  readonly operationId: OperationId;
  readonly path: string;
}

/** The delay and the problem that a request of a sandbox asks for. */
export interface Behavior {
  readonly delayMs: number;
  /** The problem to answer instead of running the operation; null = run it. */
  readonly problem: Problem | null;
}

/** The state of a request for its log line and error response, in `res.locals`. */
export interface Locals {
  readonly requestId: string;
  /** The trace's id, from the caller's `traceparent` (W3C) or the request's span. */
  traceId?: string | undefined;
  route?: Route;
  caller?: Caller | undefined;
  /** The usage of the limit that was counted or checked last. */
  usage?: Usage;
  /** The code of the problem response. */
  code?: string;
  /** The behavior that a sandbox's request asks for. Its problem is not logged as an error; metrics omit its delay. */
  behavior?: Behavior;
  /** The error for Express to turn into a response. */
  failure?: unknown;
}

export type Response = ServerResponse & { locals: Locals };
export type Request = IncomingMessage;

/** The caller's address; null if the caller has hung up. */
export const addressOf = (req: Request, { trustedProxies }: Services['config']): string | null =>
  callerAddress(req, trustedProxies);

/** Whether the caller has hung up. A half-closed connection counts, because Node then ends it, too. */
export const hasGone = ({ socket }: Request): boolean => !socket.writable;

/** The fields that every log line about a request has. */
export function logIdsOf({ locals }: { readonly locals: object }): { requestId: string; trace_id: string | undefined } {
  const { requestId, traceId } = locals as Locals;
  return { requestId, trace_id: traceId };
}
