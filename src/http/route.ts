import type { OperationId } from '../contract.js';

/** What is known of a request once it is matched: the path template, never the path itself. */
export interface Route {
  readonly operationId: OperationId;
  readonly path: string;
}

interface HasLocals {
  readonly locals: Record<string, unknown>;
}

/** Remembers the route for the log and for errors. */
export function setRoute(res: HasLocals, route: Route): void {
  res.locals['route'] = route;
}

/** The route, once the request is matched. */
export const routeOf = (res: HasLocals): Route | undefined => res.locals['route'] as Route | undefined;
