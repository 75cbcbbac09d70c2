import { Router, type Request, type Response } from 'express';
import type { Services } from '../../context.js';
import { openDocumentLink, type LinkedDocument } from '../../domain/documents/links.js';
import { callerAddress } from '../listener/callerAddress.js';
import { RETRY_AFTER } from '../endpoint/errors.js';
import type { Locals } from '../endpoint/route.js';
import { sendFile } from './sendFile.js';

/** The same text for changed, invented and expired links, so that it does not reveal the reason. */
const INVALID_LINK = 'This link is not valid or has expired. Retrieve the document again for a new link.\n';

type OpenLink = (link: string, request: Request, response: Response) => Promise<LinkedDocument | undefined>;

/** Opens documents by their links, for everyone who has a link, and records each access in the audit. */
export const documentLinks =
  (services: Services): OpenLink =>
  (link, request, { locals }) =>
    openDocumentLink(services, link, {
      requestId: (locals as Locals).requestId,
      ip: callerAddress(request, services.config.trustedProxies),
    });

/** Serves the signed links of the file store; mount at `/files`. A browser offers to save the document. */
export function fileRoutes(open: OpenLink): Router {
  const router = Router({ caseSensitive: true, strict: true });
  // Match by pattern: Express would decode a path parameter, and fail on malformed encoding, which no link contains.
  router.all(/^\/[^/]+$/, async (request, response) => {
    response.set(PROTECTION);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return refuse(response, 405, 'Use GET or HEAD for this link.\n');
    }
    const file = await open(request.path.slice(1), request, response);
    if (!file) return refuse(response, 403, INVALID_LINK);
    response.attachment(file.fileName);
    response.setHeader('Content-Type', file.contentType);
    const error = await sendFile(response, file.path);
    if (error)
      refuse(
        response,
        statusOf(error),
        'The file cannot be served: it is missing or unreadable, or a Range or If-… header cannot be met. Omit these headers; if it fails again, report it to the operator.\n',
      );
  });
  return router;
}

const PROTECTION = {
  'Cache-Control': 'private, no-store',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

function refuse(response: Response, status: number, text: string): void {
  response.removeHeader('Content-Disposition');
  if (status === 503) response.set('Retry-After', String(RETRY_AFTER));
  response.status(status).type('text/plain').send(text);
}

/** The status for an error of `sendFile`: its 404, 412 or 416; for any other, which comes from the disk, 503. */
function statusOf({ status = 500 }: { readonly status?: number }): number {
  return [404, 412, 416].includes(status) ? status : 503;
}
