import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Services } from './context.js';
import { createBackend } from './http/backend.js';
import { docsRoutes } from './http/docs.js';
import { failureHandler } from './http/errors.js';
import { fileRoutes } from './http/files.js';
import { requestIds } from './http/requestId.js';
import { requestLog } from './http/requestLog.js';
import { operations } from './operations/index.js';

/** The service as a request handler; it does not listen, so that tests and main decide where. */
export async function createApp(services: Services): Promise<Express> {
  const { version, handle } = await createBackend(operations, services);
  const app = express();
  app.disable('x-powered-by');
  // An ETag or `If-None-Match: *` would make Express send 304, which the contract does not declare.
  app.disable('etag');
  Object.defineProperty(app.request, 'fresh', { value: false });
  app.use(
    requestIds(() => services.newId()),
    requestLog(services.log),
  );
  app.use(helmet({ contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"] } } }));
  app.use((_req, res, next) => {
    res.set({ 'API-Version': version, 'Cache-Control': 'no-store' });
    next();
  });
  app.use(docsRoutes(services));
  app.use('/files', fileRoutes(services));
  app.use((req, res) => handle(req, res));
  app.use(failureHandler(services.log));
  return app;
}
