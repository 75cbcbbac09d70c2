import { IncomingMessage, ServerResponse, type RequestListener } from 'node:http';
import { Socket } from 'node:net';
import { parse } from 'node:querystring';
import express, { type ErrorRequestHandler, type Express } from 'express';
import helmet from 'helmet';
import type { Services } from './context.js';
import { createBackend, type Backend } from './http/endpoint/backend.js';
import { docsRoutes } from './http/pages/docs.js';
import { endpointsOf } from './http/endpoint/endpoint.js';
import { failureHandler } from './http/endpoint/errors.js';
import { documentLinks, fileRoutes } from './http/pages/files.js';
import { workbenchRoutes } from './http/pages/workbench.js';
import { logWhenClosed, requestIdFor } from './http/listener/requestLog.js';
import type { Locals, Request, Response } from './http/endpoint/route.js';
import * as operations from './operations/index.js';
import type { Operations } from './operations/operation.js';
import { Problem } from './problem.js';

/** A path with an optional query: the request target that nearly every client sends. */
const PLAIN_TARGET = /^(\/[^?#\s]*)(?:\?([^#\s]*))?$/;

/** All operations of the contract; does not compile if an operation is missing, mistyped or extra. */
type Registered = Operations & Record<Exclude<keyof typeof operations, keyof Operations>, never>;

/** Shared by all apps of a process: endpoints depend only on the contract and the code. */
let endpoints: ReturnType<typeof endpointsOf> | undefined;

/** Creates the request listener. It runs operations directly; everything else, including failures, uses Express. */
export async function createApp(services: Services): Promise<RequestListener> {
  const backend = createBackend(
    await (endpoints ??= endpointsOf(operations satisfies Registered)),
    services,
    protectiveHeaders(),
  );
  const others = otherRoutes(services, backend);
  const receive = async (req: Request, plainResponse: ServerResponse): Promise<void> => {
    const requestId = requestIdFor(req.headers['x-request-id'], services.newRequestId);
    const locals: Locals = { requestId };
    const res: Response = Object.assign(plainResponse, { locals });
    logWhenClosed(services.log, req, res);
    try {
      const { method = '', url = '', headers } = req;
      const [, path, search] = PLAIN_TARGET.exec(url) ?? [];
      const match = path === undefined ? 'unknown_path' : backend.match(method, path);
      if (path !== undefined && match !== 'unknown_path' && !('allow' in match)) {
        const head = { path, params: match.params, query: parse(search ?? ''), headers };
        return await backend.answer(match.operation, head, req, res);
      }
    } catch (failure) {
      locals.failure = failure;
    }
    others(req, res);
  };
  // Last resort for errors in the code above: the request gets no response and no log line, but the process continues.
  return (req, res) => void receive(req, res).catch(() => res.destroy());
}

/** Express's routes: documentation, stored files, rejected requests, and operations with an unusual request target. */
function otherRoutes(services: Services, { match, answer, headers: common }: Backend): Express {
  const app = express();
  app.disable('x-powered-by');
  // An ETag or `If-None-Match: *` would make Express send 304, which the contract does not declare.
  app.disable('etag');
  Object.defineProperty(app.request, 'fresh', { value: false });
  app.use((_req, res, next) => {
    const { requestId, failure } = res.locals as Locals;
    res.set({ 'X-Request-Id': requestId, ...common });
    next(failure);
  });
  app.use(docsRoutes(services));
  app.use(workbenchRoutes());
  app.use('/files', fileRoutes(documentLinks(services)));
  app.use((req, res) => {
    const found = match(req.method, req.path);
    if (found === 'unknown_path') throw new Problem('route_not_found', finalSlash(req.path));
    if ('allow' in found) {
      res.set('Allow', found.allow);
      throw new Problem('method_not_allowed');
    }
    const { path, query, headers } = req;
    const own = Object.assign(res, { locals: res.locals as Locals });
    return answer(found.operation, { path, params: found.params, query, headers }, req, own);
  });
  app.use(failureHandler(services));
  // Close the connection: Express would print the error, including values, to standard error.
  const cut: ErrorRequestHandler = (_error, _req, res, _next) => void res.destroy();
  return app.use(cut);
}

/** The problem's detail for an unknown path with a final slash: without it, the path may be that of an operation. */
const finalSlash = (path: string): string | undefined =>
  /.\/$/.test(path) ? 'No operation has this path. Send it without the slash at its end.' : undefined;

/** The headers of helmet, which are constant and therefore computed once. */
function protectiveHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const recorder = new ServerResponse(new IncomingMessage(new Socket()));
  recorder.setHeader = (name, value) => {
    headers[name] = String(value);
    return recorder;
  };
  const none = ["'none'"];
  const directives = { defaultSrc: none, baseUri: none, frameAncestors: none };
  const protect = helmet({ contentSecurityPolicy: { useDefaults: false, directives } });
  protect(recorder.req, recorder, () => undefined);
  return headers;
}
