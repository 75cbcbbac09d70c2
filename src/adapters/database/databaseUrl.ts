import { Client } from 'pg';
import { messageOf } from '../../failures.js';

/** Values of `sslmode`. Here, as in pg 8, all verify certificate and host name; in libpq only the last one does. */
const ENCRYPTED = ['require', 'verify-ca', 'verify-full'];

/**
 * The checked URL to use for every connection.
 * @throws Error naming the `variable` if the URL or a certificate that it names cannot be read, or if it has another
 * sslmode than `disable` and {@link ENCRYPTED}, or none for another machine
 */
export function protectedUrl(variable: string, url: string): string {
  if (!URL.canParse(url)) throw new Error(`${variable} is not a valid URL. Check its host, port and percent-encoding.`);
  const address = new URL(url);
  const mode = address.searchParams.get('sslmode');
  if (mode === null) {
    if (isLocal(variable, url)) return address.href;
    throw new Error(`${variable} must say sslmode=verify-full, or sslmode=disable for plain text.`);
  }
  if (mode !== 'disable' && !ENCRYPTED.includes(mode)) {
    throw new Error(`${variable} must have an sslmode of disable, ${ENCRYPTED.join(', ')}.`);
  }
  if (mode !== 'disable') address.searchParams.set('sslmode', 'verify-full');
  hostOf(variable, address.href);
  return address.href;
}

/** The error of a pooler that gets the settings of a session, and its remedy. */
export const POOLER_REMEDY = [
  /unsupported startup parameter/i,
  'A pooler answers instead of PostgreSQL: set DATABASE_DIRECT_URL and, if you use it, DATABASE_OWNER_URL to the address of PostgreSQL itself (scripts/production/database.md#pooler), and leave options and timeouts out of the URL of a pooler.',
] as const;

/** Whether the host of the URL is this machine. @throws Error naming the `variable` if the URL cannot be read */
export function isLocal(variable: string, url: string): boolean {
  const host = hostOf(variable, url);
  return host.startsWith('/') || isLoopback(host);
}

/** Whether a host of a URL is this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

export function roleOf(url: string): string {
  return new Client({ connectionString: url }).user ?? '';
}

/** The host of a URL. pg parses it, and so reads its certificates, too: unreadable ones are found early. */
function hostOf(variable: string, url: string): string {
  try {
    return new Client({ connectionString: url }).host;
  } catch (cause) {
    throw new Error(`${variable} cannot be used: ${messageOf(cause)}. Correct the URL or the files that it names.`, {
      cause,
    });
  }
}
