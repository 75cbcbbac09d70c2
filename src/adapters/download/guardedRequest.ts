import type { LookupAddress } from 'node:dns';
import { lookup as lookupOnThisMachine, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import type { PlainResponse } from 'got';
import { isAllowedOrigin, isPublicAddress, isPublicOrigin } from './addressRules.js';

/** Returns all addresses of a host name; rejects if there are none. */
export type HostLookup = (hostname: string) => Promise<readonly LookupAddress[]>;

/** How to send requests. */
interface GuardOptions {
  /** Origins that may be reached over http and at any address. */
  readonly allowed: ReadonlySet<string>;
  /** Replaces the normal lookup of host names. */
  readonly lookup: HostLookup | undefined;
  readonly userAgent: string;
  /** PEM certificates to trust in place of the system's. */
  readonly ca: string | undefined;
  /** Milliseconds, for each of: lookup, TCP connection, TLS handshake. */
  readonly connectTimeout: number;
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

/** Thrown if a URL is not https, or leads or may lead to a private address, and its origin is not exempt. */
export class ForbiddenTarget extends Error {}

/**
 * Creates the function that sends one request to a foreign URL: without proxy, cookies, retry or decompression. Because
 * DNS can change between requests, each connection checks the addresses of its host. The caller follows
 * redirects, because got would read whole error pages and restart its timeouts on every hop.
 * @throws ForbiddenTarget, or the error of the request
 */
export function guardedRequests({ allowed, lookup, userAgent, ca, connectTimeout: connect }: GuardOptions) {
  return async (url: URL, request: OutgoingRequest, signal: AbortSignal): Promise<Exchange> => {
    const isExempt = isAllowedOrigin(url, allowed);
    if (!isExempt && !isPublicOrigin(url)) throw new ForbiddenTarget();
    // Import got with the first request: servers that fetch and send nothing never need it.
    const { got } = await import('got');
    const stream = got.stream(url, {
      ...request,
      headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity', ...request.headers },
      // Use new agents per request: a kept-alive connection of an earlier request would bypass the address check.
      agent: { http: new HttpAgent({ keepAlive: false }), https: new HttpsAgent({ keepAlive: false, ca }) },
      dnsLookup: checkedLookup(lookup ?? (isExempt ? lookupAsOthers : lookupInDns), isExempt),
      timeout: { lookup: connect, connect, secureConnect: connect },
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      signal,
    });
    // An error may occur while the stream is not read; without a listener it would end the process.
    stream.on('error', () => undefined);
    // Without a listener, got would wait for another response after a 101, until `signal` aborts.
    stream.on('upgrade', () => stream.destroy(new Error('The server switched protocols')));
    await once(stream, 'response', { signal }).catch((error: unknown) => {
      const { cause } = error as Error;
      throw cause instanceof ForbiddenTarget ? cause : error;
    });
    if (!stream.response) throw new Error('No response');
    return { stream, response: stream.response };
  };
}

/** The lookup of a connection. It fails unless all addresses are public, or the origin is exempt. */
function checkedLookup(lookup: HostLookup, isExempt: boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname).then(
      (addresses) => {
        const [first] = addresses;
        const isRight = isExempt || addresses.every(({ address }) => isPublicAddress(address));
        if (!first || !isRight) callback(new ForbiddenTarget(), []);
        else if (options.all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(error as Error, []),
    );
  };
}

/** Resolves a host that the operator has allowed, like other programs on this machine: hosts file, DNS and so on. */
const lookupAsOthers: HostLookup = (hostname) => lookupOnThisMachine(hostname, { all: true });

/** Resolves by DNS only: hostile name servers could block libuv's threads, which the system's lookup uses. */
async function lookupInDns(hostname: string): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)];
  if (addresses.length > 0) return addresses;
  throw ipv4.status === 'rejected' ? ipv4.reason : new Error('The host name has no address');
}

function addressesOf(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}
