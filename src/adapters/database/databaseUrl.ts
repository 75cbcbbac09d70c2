import { Client } from 'pg';
import { messageOf } from '../../failures.js';

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1|\/.*)$/;
/** All three check the certificate and the name of the host here, as pg 8 does; in libpq only the last one does. */
const ENCRYPTED = ['require', 'verify-ca', 'verify-full'];

/**
 * The address with which everything connects: what `sslmode` means is decided here once.
 * @param variable which names the address
 * @throws Error naming the variable when plain text would leave this machine without being asked for, when the mode
 *   protects from nobody, or when a certificate cannot be read
 */
export function protectedUrl(variable: string, url: string): string {
  const address = parse(variable, url);
  const mode = address.searchParams.get('sslmode');
  if (mode === null) {
    if (LOOPBACK.test(hostOf(variable, url))) return url;
    throw new Error(`${variable} must say sslmode=verify-full, or sslmode=disable for plain text to another machine.`);
  }
  if (mode !== 'disable' && !ENCRYPTED.includes(mode)) {
    throw new Error(`${variable} must have an sslmode of disable, ${ENCRYPTED.join(', ')}.`);
  }
  if (mode !== 'disable') address.searchParams.set('sslmode', 'verify-full');
  hostOf(variable, address.href);
  return address.href;
}

/** The role that an address names. */
export function roleOf(url: string): string {
  return new Client({ connectionString: url }).user ?? '';
}

function parse(variable: string, url: string): URL {
  if (!URL.canParse(url)) throw new Error(`${variable} is no address: a special character must be percent-encoded.`);
  return new URL(url);
}

/** As pg understands the address, which reads the certificates that it names. */
function hostOf(variable: string, url: string): string {
  try {
    return new Client({ connectionString: url }).host;
  } catch (cause) {
    throw new Error(`${variable} cannot be used: ${messageOf(cause)}`, { cause });
  }
}
