import { Router } from 'express';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../packageRoot.js';
import { sendPage } from './sendFile.js';

/** Security policy of the workbench: scripts, styles and connections only from this service. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The files that `make build` writes to generated/docs/workbench, by their paths. */
const FILES = {
  '/workbench': 'index.html',
  '/workbench/main.js': 'main.js',
  '/workbench/workbench.css': 'workbench.css',
} as const;

/** Serves the workbench: a page that calls the public API with the credentials of a sandbox (D-317). */
export function workbenchRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, name] of Object.entries(FILES)) {
    const file = fileURLToPath(new URL(`generated/docs/workbench/${name}`, packageRoot));
    router.get(path, async (_req, res) => {
      res.set({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' });
      await sendPage(res, file);
    });
  }
  return router;
}
