import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The peer's address or, behind trusted proxies, the one that the outermost of them saw; callers can forge the rest. */
export function callerAddress(
  { headers, socket }: { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } },
  trustedProxies: number,
): string | null {
  const peer = plain(socket.remoteAddress ?? '');
  if (trustedProxies === 0) return peer;
  const hops = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
  return plain(hops.at(-trustedProxies)?.trim() ?? '') ?? peer;
}

/** The address to count for limits. IPv6 is counted by /64 network, because one host can use every address in it. */
export function networkOf(address: string | null): string | null {
  return address !== null && isIPv6(address) ? ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString() : address;
}

/** An address without zone, and without the IPv6 prefix of a mapped IPv4 address; null for other text. */
function plain(text: string): string | null {
  const address = text.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return isIP(address) ? address : null;
}
