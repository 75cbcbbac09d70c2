import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';

/** Returns all addresses of a host name; rejects if there are none, or when the signal aborts. */
export type HostLookup = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/** Resolves a host that the operator has allowed, like other programs on this machine: hosts file, DNS and so on. */
export const lookupOnThisMachine: HostLookup = async (hostname, signal) => {
  const addresses = await lookup(hostname, { all: true });
  signal.throwIfAborted();
  return addresses;
};

/** Resolves by DNS only. The system's lookup cannot be aborted: hostile name servers could block libuv's threads. */
export const lookupInDns: HostLookup = async (hostname, signal) => {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal.throwIfAborted();
    const addresses = [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)];
    if (addresses.length > 0) return addresses;
    throw ipv4.status === 'rejected' ? ipv4.reason : new Error('The name has no address');
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};

function addressesOf(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}
