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
 * One request to exactly the given addresses: no proxy, cookies, credentials, referrer, retry or decompression, and no
 * redirect: got would leave open for ever the connection of a redirect whose body never ends, take a whole error page
 * into memory and start its timeouts again on every hop, so that is the caller's.
 * @throws the reason (network, TLS, timeout, protocol error, or the signal's)
 */
export async function requestOnce(
  url: URL,
  request: OutgoingRequest,
  addresses: readonly HostAddress[],
  { userAgent, ca, connectTimeout, responseTimeout }: HopOptions,
  signal: AbortSignal,
): Promise<Exchange> {
  // Agents of its own: the kept-alive connection of somebody else would be used without any look at its address.
  const https = new HttpsAgent({ keepAlive: false, ca });
  // Loaded with the first document: a server that only reads never needs it.
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
