import type { RequestListener, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import express, { type ErrorRequestHandler, type Express } from 'express';
import type { Services } from './context.js';
import { createBackend, type Backend } from './http/endpoint/backend.js';
import { docsRoutes } from './http/pages/docs.js';
import { endpointsOf } from './http/endpoint/endpoint.js';
import { failureHandler } from './http/endpoint/errors.js';
import { documentLinks, fileRoutes } from './http/pages/files.js';
import { logWhenClosed, requestIdFor } from './http/listener/requestLog.js';
import type { Locals, Request, Response } from './http/endpoint/route.js';
import * as operations from './operations/index.js';
import type { Operations } from './operations/operation.js';
import { Problem } from './problem.js';

/** Security headers of all responses but Node's own. Pages and files replace the Content-Security-Policy. */
const PROTECTION = {
  'Content-Security-Policy': "default-src 'none';base-uri 'none';frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-DNS-Prefetch-Control': 'off',
  'X-Download-Options': 'noopen',
  'X-Frame-Options': 'SAMEORIGIN',
  'X-Permitted-Cross-Domain-Policies': 'none',
  'X-XSS-Protection': '0',
};

/** A request target: a path with an optional query. Some clients send an origin before it, or a fragment. */
const TARGET = /^(?:https?:\/\/[^/?#\s]+)?(\/[^?#\s]*)(?:\?([^#\s]*))?(?:#.*)?$/i;

/** All operations of the contract; does not compile if an operation is missing, mistyped or extra. */
type Registered = Operations & Record<Exclude<keyof typeof operations, keyof Operations>, never>;

/** Shared by all apps of a process: endpoints depend only on the contract and the code. */
let endpoints: ReturnType<typeof endpointsOf> | undefined;

/** Creates the request listener. It runs operations directly; everything else, including failures, uses Express. */
export async function createApp(services: Services): Promise<RequestListener> {
  const backend = createBackend(
    await (endpoints ??= endpointsOf(operations satisfies Registered)),
    services,
    PROTECTION,
  );
  const others = otherRoutes(services, backend);
  const receive = async (req: Request, plainResponse: ServerResponse): Promise<void> => {
    const requestId = requestIdFor(req.headers['x-request-id'], services.newRequestId);
    const locals: Locals = { requestId };
    const res: Response = Object.assign(plainResponse, { locals });
    logWhenClosed(services.log, req, res);
    try {
      const { method = '', url = '', headers } = req;
      const [, path, search] = TARGET.exec(url) ?? [];
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
  // Last resort for an error outside of the `try`: the caller gets no response, but the process continues.
  return (req, res) => void receive(req, res).catch(() => res.destroy());
}

/** Express's routes: documentation, stored files and rejected requests. */
function otherRoutes(services: Services, { match, headers: common }: Backend): Express {
  const app = express();
  app.disable('x-powered-by');
  // Express would add an ETag to problems, for which the contract declares none.
  app.disable('etag');
  app.use((_req, res, next) => {
    const { requestId, failure } = res.locals as Locals;
    res.set({ 'X-Request-Id': requestId, ...common });
    next(failure);
  });
  app.use(docsRoutes(services));
  app.use('/files', fileRoutes(documentLinks(services)));
  app.use((req, res) => {
    const found = match(req.method, req.path);
    if (found === 'unknown_path' || !('allow' in found)) throw new Problem('route_not_found', finalSlash(req.path));
    res.set('Allow', found.allow);
    throw new Problem('method_not_allowed');
  });
  app.use(failureHandler(services));
  // If that handler fails, close the connection: Express would print the error, including values, to standard error.
  const cut: ErrorRequestHandler = (_error, _req, res, _next) => void res.destroy();
  return app.use(cut);
}

/** The detail of the problem for an unknown path that ends with a slash, which callers may have added by mistake. */
const finalSlash = (path: string): string | undefined =>
  /.\/$/.test(path) ? 'No operation has this path: none ends with a slash. Send it without, or see /docs.' : undefined;
