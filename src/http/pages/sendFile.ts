import type { Response } from 'express';
import { hasGone } from '../endpoint/route.js';

/** An error of Express's `sendFile`, which may carry the status of its response. */
type SendError = Error & { readonly status?: number };

/**
 * Express's `sendFile` as a promise, because an exception in its callback would end the process.
 * @returns an error that can still be answered. @throws SendError once the headers are sent
 */
export function sendFile(res: Response, path: string): Promise<SendError | undefined> {
  return new Promise((resolve, reject) => {
    // `allow`: the path of DATA_DIR or of the package may contain a name with a leading dot.
    res.sendFile(path, { dotfiles: 'allow', cacheControl: false }, (error?: SendError) => {
      if (!error || hasGone(res.req)) resolve(undefined);
      else if (res.headersSent) reject(error);
      else resolve(error);
    });
  });
}
