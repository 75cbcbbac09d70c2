import { createHash, type Hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Problem } from '../../problem.js';
import { allowedOrigins, parseRedirect, parseTarget } from './addressRules.js';
import type { Downloader } from './downloader.js';
import { ForbiddenTarget, guardedRequests } from './guardedRequest.js';
import type { Exchange, HostLookup, OutgoingRequest } from './guardedRequest.js';
import { sniffLength, sniffType } from './sniffType.js';

export interface DownloaderOptions {
  /** `host:port` origins that may be fetched over http and at any address (DOCUMENT_FETCH_ALLOWED_HOSTS). */
  readonly allowedHosts: readonly string[];
  /** PEM certificates to trust in place of the system's. */
  readonly ca?: string;
  /** Milliseconds, for each of: DNS lookup, TCP connection, TLS handshake. */
  readonly connectTimeout?: number;
  /** Milliseconds for the whole fetch, including redirects and reading. */
  readonly totalTimeout?: number;
  /** Replaces the normal lookup of host names. */
  readonly lookup?: HostLookup;
}

/** Limits of a fetch. The timeouts, in milliseconds, are defaults. */
export const fetchDefaults = {
  connectTimeout: 5_000,
  totalTimeout: 30_000,
  maxRedirects: 3,
} as const;

const GET: OutgoingRequest = { method: 'GET', headers: {} };

const redirectStatuses: readonly (number | undefined)[] = [301, 302, 303, 307, 308];

export function createDownloader(options: DownloaderOptions): Downloader {
  const { connectTimeout, totalTimeout } = { ...fetchDefaults, ...options };
  const request = guardedRequests({
    allowed: allowedOrigins(options.allowedHosts, 'DOCUMENT_FETCH_ALLOWED_HOSTS'),
    lookup: options.lookup,
    userAgent: 'ClinicalEncounterService/1 (document fetch)',
    ca: options.ca,
    connectTimeout,
  });

  return async (text, { maxBytes }, use) => {
    const url = parseTarget(text);
    if (!url) throw new Problem('document_url_invalid');
    const deadline = AbortSignal.timeout(totalTimeout);
    const { stream, response } = await follow(url, (target) => request(target, GET, deadline).catch(failed));
    try {
      if (Number(response.headers['content-length']) > maxBytes) throw new Problem('document_too_large');
      const meter: Meter = { bytes: 0, hash: createHash('sha256'), atEnd: false };
      const chunks = metered(chunksOf(stream), maxBytes, meter);
      const start = await readStart(chunks);
      if (start.length === 0) throw new Problem('document_empty');
      const sniffedType = await sniffType(start);
      const body = joined(start, chunks);
      const value = await use({ sniffedType, declaredType: response.headers['content-type'], body });
      if (!meter.atEnd) throw new Error('`use` must read the file to its end');
      return { value, sizeBytes: meter.bytes, checksum: meter.hash.digest('hex') };
    } finally {
      stream.destroy();
    }
  };
}

/** Requests a URL and follows redirects (maximum: `fetchDefaults`) until a response contains a file. */
async function follow(start: URL, visit: (url: URL) => Promise<Exchange>): Promise<Exchange> {
  const { maxRedirects } = fetchDefaults;
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const exchange = await visit(url);
    const { statusCode, headers } = exchange.response;
    // Exclude status 206: such a response contains only a part of the document.
    if (statusCode >= 200 && statusCode < 300 && statusCode !== 206) return exchange;
    exchange.stream.destroy();
    if (!redirectStatuses.includes(statusCode) || !headers.location) {
      throw new Problem(
        'document_fetch_failed',
        `The host answered with status ${statusCode} instead of the file. Check the URL, then try again.`,
      );
    }
    const target = parseRedirect(headers.location ?? '', url);
    // The server chose this target, so report any defect in it as forbidden.
    if (!target) throw new Problem('document_url_forbidden');
    url = target;
  }
  return failed(new Error(`More than ${maxRedirects} redirects`));
}

/** The chunks of a stream. @throws Problem document_fetch_failed for the stream's errors */
async function* chunksOf(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    failed(error);
  }
}

interface Meter {
  bytes: number;
  readonly hash: Hash;
  atEnd: boolean;
}

/** Passes chunks on, counts and hashes them, and throws beyond the limit, even if Content-Length promised less. */
async function* metered(chunks: AsyncIterable<Uint8Array>, maxBytes: number, meter: Meter): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    meter.bytes += chunk.length;
    if (meter.bytes > maxBytes) throw new Problem('document_too_large');
    meter.hash.update(chunk);
    yield chunk;
  }
  meter.atEnd = true;
}

async function readStart(chunks: AsyncGenerator<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  while (length < sniffLength) {
    const next = await chunks.next();
    if (next.done) break;
    parts.push(next.value);
    length += next.value.length;
  }
  return Buffer.concat(parts);
}

async function* joined(start: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield start;
  yield* rest;
}

/**
 * Throws the same problem for every failure, so that callers cannot probe the network, except a Problem and a forbidden
 * target. The cause, which is for the log, contains neither host nor address.
 */
function failed(error: unknown): never {
  if (error instanceof Problem) throw error;
  if (error instanceof ForbiddenTarget) throw new Problem('document_url_forbidden');
  throw new Problem('document_fetch_failed', undefined, { cause: new Error(nameless(error)) });
}

function nameless(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  // got invents this code for errors that have none. Those errors were thrown by the service, so use their message.
  const code = 'code' in error && error.code !== 'ERR_GOT_REQUEST_ERROR' ? error.code : undefined;
  return typeof code === 'string' ? code : error.message;
}
