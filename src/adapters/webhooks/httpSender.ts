import type { Readable } from 'node:stream';
import { errorCode } from '../../failures.js';
import { allowedOrigins } from '../download/addressRules.js';
import { ForbiddenTarget, guardedRequests } from '../download/guardedRequest.js';
import type { DownloaderOptions } from '../download/download.js';
import type { WebhookSender } from './sender.js';

/** Options of the sender. `allowedHosts`: the entries of WEBHOOK_ALLOWED_HOSTS. */
export interface SenderOptions extends Pick<DownloaderOptions, 'allowedHosts' | 'ca' | 'lookup'> {
  /** Milliseconds for one whole attempt. */
  readonly timeout: number;
}

const CONNECT_TIMEOUT = 5_000;
/** Maximum of bytes read from a response and discarded, so that the receiver can end it normally. */
const READ_BYTES = 1_024;

/** Creates the function that sends webhooks. Each attempt checks the receiver's address like that of a document. */
export function createWebhookSender({ allowedHosts, timeout, ca, lookup }: SenderOptions): WebhookSender {
  const request = guardedRequests({
    allowed: allowedOrigins(allowedHosts, 'WEBHOOK_ALLOWED_HOSTS'),
    ca,
    lookup,
    userAgent: 'ClinicalEncounterService/1 (webhook)',
    connectTimeout: Math.min(CONNECT_TIMEOUT, timeout),
  });
  return async (url, headers, body) => {
    const deadline = AbortSignal.timeout(timeout);
    try {
      const { stream, response } = await request(new URL(url), { method: 'POST', headers, body }, deadline);
      await readSome(stream).catch(() => undefined);
      return { status: response.statusCode, retryAfter: response.headers['retry-after'] ?? null };
    } catch (error) {
      if (error instanceof ForbiddenTarget) return { error: 'url_forbidden' };
      return { error: deadline.aborted || isTimeout(error) ? 'timeout' : 'unreachable' };
    }
  };
}

async function readSome(stream: Readable): Promise<void> {
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Uint8Array).length;
    // Leaving the loop destroys the stream, which closes the connection.
    if (bytes >= READ_BYTES) break;
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || errorCode(error) === 'ETIMEDOUT');
