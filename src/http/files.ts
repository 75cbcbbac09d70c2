import { Router, type Response } from 'express';
import type { Services } from '../context.js';
import { sendFile } from './sendFile.js';

/** For a link that was changed, made up or has expired alike: which of them it was is nobody's business. */
const refusal = 'This link is not valid or has expired.\n';

/**
 * Serves the signed links of the file store (`fileUrl`), which are no part of the contract; mount at `/files`. A
 * document is only ever offered for saving, and whatever is in it can't run in a browser.
 */
export function fileRoutes(services: Pick<Services, 'objects' | 'now'>): Router {
  const router = Router({ caseSensitive: true, strict: true });
  // Not as a parameter, which Express decodes and, malformed, takes for a failure: nothing in a link is encoded.
  router.all(/^\/[^/]+$/, async (request, response) => {
    response.set(PROTECTION);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return refuse(response, 405, 'Links are for GET.\n');
    }
    const file = services.objects.openLink?.(request.path.slice(1), services.now());
    if (!file) return refuse(response, 403, refusal);
    response.attachment(file.fileName);
    response.setHeader('Content-Type', file.contentType);
    const error = await sendFile(response, file.path);
    if (error) refuse(response, statusOf(error), 'The file can not be served.\n');
  });
  return router;
}

const PROTECTION = {
  'Cache-Control': 'private, no-store',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

function refuse(response: Response, status: number, text: string): void {
  response.removeHeader('Content-Disposition');
  response.status(status).type('text/plain').send(text);
}

/** 404, 412 and 416 are answers to the request; anything else is the disk's fault. */
function statusOf({ status = 500 }: { readonly status?: number }): number {
  return [404, 412, 416].includes(status) ? status : 503;
}
