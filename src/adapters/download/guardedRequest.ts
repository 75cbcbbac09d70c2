import { isIP } from 'node:net';
import { withTimeLimit } from '../withTimeLimit.js';
import { hostOf, isAllowedOrigin, isPublicAddress, isPublicOrigin } from './addressRules.js';
import { lookupInDns, lookupOnThisMachine, type HostLookup } from './hostAddresses.js';
import { requestOnce, type Exchange, type HopOptions, type OutgoingRequest } from './requestOnce.js';

interface GuardOptions extends HopOptions {
  /** Origins that may be reached over http and at any address. */
  readonly allowed: ReadonlySet<string>;
  /** Replaces the normal lookup of host names. */
  readonly lookup: HostLookup | undefined;
}

/** Thrown if a URL leads, or may lead, to a private address. */
export class ForbiddenTarget extends Error {}

/**
 * Creates the function that sends one request to a foreign URL. Because DNS can change between requests, each one
 * checks the origin, resolves the host, checks the addresses and connects only to those. @throws ForbiddenTarget, or
 * the cause of the failure
 */
export function guardedRequests(options: GuardOptions) {
  return async (url: URL, request: OutgoingRequest, deadline: AbortSignal): Promise<Exchange> => {
    const isExempt = isAllowedOrigin(url, options.allowed);
    if (!isExempt && !isPublicOrigin(url)) throw new ForbiddenTarget();
    const lookup = options.lookup ?? (isExempt ? lookupOnThisMachine : lookupInDns);
    const signal = withTimeLimit(deadline, options.connectTimeout);
    const host = hostOf(url);
    const family = isIP(host);
    const addresses = family === 0 ? await lookup(host, signal) : [{ address: host, family }];
    if (!isExempt && !addresses.every(({ address }) => isPublicAddress(address))) throw new ForbiddenTarget();
    return requestOnce(url, request, addresses, options, deadline);
  };
}
