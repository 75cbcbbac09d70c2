import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The address that a request came from: the peer's or, behind proxies that append to `X-Forwarded-For`, the address
 * that the outermost proxy saw. The caller can forge everything before it in that header.
 * @param trustedProxies the number of proxies
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

/** The address that limits count: for IPv6 its /64 network, because a host can use every address of it. */
export function networkOf(address: string | null): string | null {
  return address !== null && isIPv6(address) ? ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString() : address;
}

/** The address without zone, and IPv4 in its own notation when it is mapped to IPv6; null for other text. */
function plain(text: string): string | null {
  const address = text.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return isIP(address) ? address : null;
}
