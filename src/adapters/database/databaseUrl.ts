import { Client } from 'pg';
import { messageOf } from '../../failures.js';

/** Values of `sslmode`. Here, as in pg 8, all verify certificate and host name; in libpq only the last one does. */
const ENCRYPTED = ['require', 'verify-ca', 'verify-full'];

/**
 * The checked URL to use for every connection. Several hosts (`host1:5432,host2:5432`, as in libpq) are moved to the
 * parameters `host` and `port`, because Node cannot parse such a URL.
 * @throws Error naming the `variable` if the URL is invalid, or neither encrypts nor permits plain text to another
 * machine
 */
export function protectedUrl(variable: string, url: string): string {
  const address = parse(variable, url);
  const attributes = address.searchParams.get('target_session_attrs');
  if (attributes !== 'read-write' && (attributes !== null || hostUrls(address.href).length > 1)) {
    throw new Error(
      `${variable} must have target_session_attrs=read-write if it names several hosts, and no other value of it.`,
    );
  }
  const mode = address.searchParams.get('sslmode');
  if (mode === null) {
    if (isLocal(variable, address.href)) return address.href;
    throw new Error(`${variable} must say sslmode=verify-full, or sslmode=disable for plain text to another machine.`);
  }
  if (mode !== 'disable' && !ENCRYPTED.includes(mode)) {
    throw new Error(`${variable} must have an sslmode of disable, ${ENCRYPTED.join(', ')}.`);
  }
  if (mode !== 'disable') address.searchParams.set('sslmode', 'verify-full');
  hostsOf(variable, address.href);
  return address.href;
}

/** Whether all hosts of the URL are this machine. @throws Error naming the `variable` if the URL cannot be read */
export const isLocal = (variable: string, url: string): boolean =>
  hostsOf(variable, url).every((host) => host.startsWith('/') || isLoopback(host));

/** Whether a host of a URL is this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

export function roleOf(url: string): string {
  return new Client({ connectionString: url }).user ?? '';
}

/** One URL for each host of a {@link protectedUrl}. */
export function hostUrls(url: string): string[] {
  const address = new URL(url);
  const hosts = (address.searchParams.get('host') ?? '').split(',');
  if (hosts.length < 2) return [url];
  const ports = (address.searchParams.get('port') ?? '').split(',');
  return hosts.map((host, index) => {
    address.searchParams.set('host', host);
    address.searchParams.set('port', ports[index] || ports[0] || '5432');
    return address.href;
  });
}

/** Matches the host part of a URL that names several hosts. */
const SEVERAL_HOSTS = /(?<=^[^/]*\/\/(?:[^@/?#]*@)?)[^@/?#]*,[^@/?#]*(?=[/?#]|$)/;

function parse(variable: string, url: string): URL {
  const hosts = SEVERAL_HOSTS.exec(url)?.[0].split(',') ?? [];
  const first = url.replace(SEVERAL_HOSTS, hosts[0] ?? '');
  if (!URL.canParse(first)) throw new Error(`${variable} is not a valid URL. Percent-encode special characters.`);
  const address = new URL(first);
  if (hosts.length === 0) return address;
  const parts = hosts.map((host) => /^\[?(.*?)\]?(?::(\d+))?$/.exec(host) ?? []);
  address.searchParams.set('host', parts.map(([, host]) => host).join(','));
  address.searchParams.set('port', parts.map(([, , port]) => port ?? '5432').join(','));
  return address;
}

/** The hosts of a URL. pg parses it, and so reads its certificates, too: unreadable ones are found early. */
function hostsOf(variable: string, url: string): string[] {
  try {
    return hostUrls(url).map((each) => new Client({ connectionString: each }).host);
  } catch (cause) {
    throw new Error(`${variable} cannot be used: ${messageOf(cause)}`, { cause });
  }
}
