import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The peer, or what the outermost of `trustedProxies` saw: callers can forge the rest of `X-Forwarded-For`. */
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
