import type { LookupAddress } from 'node:dns';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { once } from 'node:events';
import type { PlainResponse } from 'got';

/** How to send one request. Timeouts are in milliseconds. */
export interface HopOptions {
  readonly userAgent: string;
  /** PEM certificates to trust in place of the system's. */
  readonly ca: string | undefined;
  readonly connectTimeout: number;
  /** Timeout for receiving the response's headers. */
  readonly responseTimeout: number;
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A response whose body is unread. The receiver must destroy the stream, which closes the connection. */
export interface Exchange {
  readonly stream: Readable;
  readonly response: PlainResponse;
}

/**
 * Sends one request to exactly the given addresses: without proxy, cookies, retry or decompression. The caller follows
 * redirects, because got would read whole error pages and restart its timeouts on every hop. @throws the cause
 */
export async function requestOnce(
  url: URL,
  request: OutgoingRequest,
  addresses: readonly LookupAddress[],
  { userAgent, ca, connectTimeout, responseTimeout }: HopOptions,
  signal: AbortSignal,
): Promise<Exchange> {
  // Use a new agent per request: a kept-alive connection of an earlier request would bypass the address check.
  const https = new HttpsAgent({ keepAlive: false, ca });
  // Import got with the first document: servers that only read never need it.
  const { got } = await import('got');
  const stream = got.stream(url, {
    ...request,
    headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity', ...request.headers },
    agent: { http: new HttpAgent({ keepAlive: false }), https },
    dnsLookup: pinnedTo(addresses),
    timeout: { connect: connectTimeout, secureConnect: connectTimeout, response: responseTimeout },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    signal,
  });
  // An error may occur while the stream is not read; without a listener it would end the process.
  stream.on('error', () => undefined);
  // Without a listener, got would wait forever for another response after a 101.
  stream.on('upgrade', () => stream.destroy(new Error('The server switched protocols')));
  await once(stream, 'response', { signal });
  if (!stream.response) throw new Error('No response');
  return { stream, response: stream.response };
}

/** A lookup function that returns only the checked addresses, so that the name is not resolved again. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (!first) callback(new Error('No address'), []);
    else if (options.all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}
