import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { once } from 'node:events';
import type { PlainResponse } from 'got';
import type { HostAddress } from './hostAddresses.js';

/** How one request is made; times in milliseconds. */
export interface HopOptions {
  readonly userAgent: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca: string | undefined;
  readonly connectTimeout: number;
  /** Longest wait for the response's headers. */
  readonly responseTimeout: number;
}

/** What is sent. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A response whose body has not been read. The receiver destroys the stream, which closes the connection. */
export interface Exchange {
  readonly stream: Readable;
  readonly response: PlainResponse;
}

/**
 * One request to exactly the given addresses: no proxy, no cookies, no credentials, no referrer, no redirect, no
 * retry, no decompression.
 *
 * got follows redirects and reads the bodies of errors by itself, but it then leaves the connection of a redirect
 * whose body never ends open for ever, takes a whole error page into memory and starts its timeouts again on every
 * hop; so both are done by the caller.
 * @throws the reason (network, TLS, timeout, protocol error, or the signal's)
 */
export async function requestOnce(
  url: URL,
  request: OutgoingRequest,
  addresses: readonly HostAddress[],
  options: HopOptions,
  signal: AbortSignal,
): Promise<Exchange> {
  // Agents of its own: a kept-alive connection of somebody else in the process (say, to the object store) would be
  // used without any look at its address.
  const https = new HttpsAgent({ keepAlive: false, ca: options.ca });
  // Loaded with the first document: a server that only reads never needs it.
  const { got } = await import('got');
  const stream = got.stream(url, {
    ...request,
    headers: { 'user-agent': options.userAgent, accept: '*/*', 'accept-encoding': 'identity', ...request.headers },
    agent: { http: new HttpAgent({ keepAlive: false }), https },
    dnsLookup: pinnedTo(addresses),
    timeout: {
      connect: options.connectTimeout,
      secureConnect: options.connectTimeout,
      response: options.responseTimeout,
    },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    signal,
  });
  // A fault may come when nobody is reading; without a listener it would end the process.
  stream.on('error', () => undefined);
  // After a 101 answer got would wait for a response that never comes.
  stream.on('upgrade', () => stream.destroy(new Error('The server switched protocols')));
  await once(stream, 'response', { signal });
  if (!stream.response) throw new Error('No response');
  return { stream, response: stream.response };
}

/** A lookup that knows only what was checked: nothing is resolved a second time. */
function pinnedTo(addresses: readonly HostAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (!first) callback(new Error('No address'), []);
    else if (options.all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}
