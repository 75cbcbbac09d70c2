import express, { type RequestHandler, type Router } from 'express';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../packageRoot.js';

/** The page is one file with its script inside; it may load nothing else and talk to nobody. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
  "worker-src blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The rendered reference and the bundled contract, as `make docs` and `make generate` wrote them. */
export function docsRoutes(): Router {
  const router = express.Router();
  router.get('/docs', file('generated/docs/index.html', { 'Content-Security-Policy': DOCS_POLICY }));
  router.get('/openapi.json', file('generated/docs/openapi.json', { 'Access-Control-Allow-Origin': '*' }));
  return router;
}

function file(path: string, headers: Record<string, string>): RequestHandler {
  const location = fileURLToPath(new URL(path, packageRoot));
  return (_req, res, next) => {
    res.set({ ...headers, 'Cache-Control': 'no-cache' });
    res.sendFile(location, { cacheControl: false, dotfiles: 'allow' }, (error?: Error) => {
      if (!error) return;
      const status = 'status' in error ? error.status : 500;
      // A condition or a range that the file does not meet is no failure of ours.
      if (!res.headersSent && (status === 412 || status === 416)) res.status(status).end();
      else next(error);
    });
  };
}
