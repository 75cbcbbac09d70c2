import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Maximum length of a URL, as in the contract; proxies and logs do not cut URLs of this length. */
const maxUrlLength = 2048;

/** Absolute http(s) URLs without blanks, control characters and backslashes, which the URL parser silently repairs. */
const urlPattern = /^https?:\/\/([^/?#\\\s\p{Cc}]+)(?:[/?#][^\\\s\p{Cc}]*)?$/iu;

/** Names that are not public, most by RFC 6761, 6762, 7686, 8375. Asking DNS would reveal which exist in our network. */
const privateNames = /(^|\.)(localhost|localdomain|local|internal|home\.arpa|onion)$/;

/** Azure's address for metadata and health, which is private to its machines although its range is public. */
const azureMetadata = '168.63.129.16';

/** The IPv6 range of the public internet (IANA); all other addresses are special or unassigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** The parsed http(s) URL (WHATWG rules); null if it does not match {@link urlPattern}, is too long, or has credentials. */
export function parseTarget(text: string): URL | null {
  const authority = text.length <= maxUrlLength ? urlPattern.exec(text)?.[1] : undefined;
  if (authority === undefined || authority.includes('@') || !URL.canParse(text)) return null;
  return new URL(text);
}

/** The URL to which a redirect leads, even a relative one; null if {@link parseTarget} would refuse that URL. */
export function parseRedirect(location: string, from: URL): URL | null {
  // Node decodes header values as Latin-1; servers that send unescaped letters use UTF-8.
  const target = Buffer.from(location, 'latin1').toString('utf8');
  if (!URL.canParse(target, from.href)) return null;
  const url = new URL(target, from.href);
  const wellFormed = url.href.length <= maxUrlLength && urlPattern.test(url.href);
  return !wellFormed || url.username || url.password ? null : url;
}

/** Turns the `host:port` entries of an environment variable into origins. @throws Error naming a malformed entry */
export function allowedOrigins(hosts: readonly string[], variable: string): ReadonlySet<string> {
  return new Set(
    hosts.map((entry) => {
      const text = `https://${entry}`;
      const url = /:\d+$/.test(entry) && URL.canParse(text) ? new URL(text) : undefined;
      if (url?.pathname !== '/' || url.username || url.password || url.search || url.hash) {
        throw new Error(
          `${variable} must be a list of host:port, with ports up to 65535. Correct the entry "${entry}".`,
        );
      }
      return originOf(url);
    }),
  );
}

/** Creates the check, without DNS, of whether a URL may get requests. @throws Error naming a malformed entry */
export function targetRule(allowedHosts: readonly string[], variable: string): (text: string) => boolean {
  const allowed = allowedOrigins(allowedHosts, variable);
  return (text) => {
    const url = parseTarget(text);
    return url !== null && (isAllowedOrigin(url, allowed) || isPublicOrigin(url));
  };
}

/** Whether the operator allows http and private addresses for this origin. */
export function isAllowedOrigin(url: URL, allowed: ReadonlySet<string>): boolean {
  return allowed.has(originOf(url));
}

/** Whether a URL meets the rules that need no DNS: https, no private IP literal, no name of a private network. */
export function isPublicOrigin(url: URL): boolean {
  if (url.protocol !== 'https:') return false;
  const host = hostOf(url);
  if (isIP(host)) return isPublicAddress(host);
  const name = host.replace(/\.$/, '');
  return name.includes('.') && !privateNames.test(name);
}

/** Whether an IP address is public. IPv4 inside IPv6 (mapped, NAT64, 6to4, Teredo) never is: no server needs it. */
export function isPublicAddress(text: string): boolean {
  // Reject spellings like 0x7f.1, which ipaddr.js accepts but no resolver returns.
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv6 ? address.match(globalUnicast) : address.toString() !== azureMetadata;
}

/** The host of a URL, without the brackets of an IPv6 literal. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function originOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

function portOf(url: URL): number {
  if (url.port) return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}
