import { Client } from 'pg';
import { messageOf } from '../../failures.js';

/** All three verify the certificate and the host name here, as in pg 8; in libpq only the last one does. */
const ENCRYPTED = ['require', 'verify-ca', 'verify-full'];

/** The address for every connection. @throws Error with the `variable`, unless traffic is protected or local */
export function protectedUrl(variable: string, url: string): string {
  const address = parse(variable, url);
  const mode = address.searchParams.get('sslmode');
  if (mode === null) {
    if (isLocal(variable, url)) return url;
    throw new Error(`${variable} must say sslmode=verify-full, or sslmode=disable for plain text to another machine.`);
  }
  if (mode !== 'disable' && !ENCRYPTED.includes(mode)) {
    throw new Error(`${variable} must have an sslmode of disable, ${ENCRYPTED.join(', ')}.`);
  }
  if (mode !== 'disable') address.searchParams.set('sslmode', 'verify-full');
  hostOf(variable, address.href);
  return address.href;
}

/** Whether the address is on this machine. @throws Error with the `variable` if it cannot be read */
export function isLocal(variable: string, url: string): boolean {
  const host = hostOf(variable, url);
  return host.startsWith('/') || isLoopback(host);
}

/** Whether a host of a URL is this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

export function roleOf(url: string): string {
  return new Client({ connectionString: url }).user ?? '';
}

function parse(variable: string, url: string): URL {
  if (!URL.canParse(url)) throw new Error(`${variable} is not a valid URL. Percent-encode special characters.`);
  return new URL(url);
}

/** Parsed by pg, which also reads the certificates that the address names. */
function hostOf(variable: string, url: string): string {
  try {
    return new Client({ connectionString: url }).host;
  } catch (cause) {
    throw new Error(`${variable} cannot be used: ${messageOf(cause)}`, { cause });
  }
}
