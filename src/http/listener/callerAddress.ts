import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The address that a request came from: the peer's or, behind proxies that append to `X-Forwarded-For`, the one that
 * the outermost of them saw. What stands before it in that header is the caller's own text.
 * @param trustedProxies how many proxies there are
 */
export function callerAddress(
  { headers, socket }: { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } },
  trustedProxies: number,
): string | null {
  const peer = plain(socket.remoteAddress ?? '');
  if (trustedProxies === 0) return peer;
  const hops = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
  return plain(hops.at(-trustedProxies)?.trim() ?? '') ?? peer;
}

/** The address as limits count it: of IPv6 the /64 network, because a host has all addresses of its own. */
export function networkOf(address: string | null): string | null {
  return address !== null && isIPv6(address) ? ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString() : address;
}

/** An IPv4 address that is written as IPv6 is the same address. */
function plain(text: string): string | null {
  const address = text.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return isIP(address) ? address : null;
}
