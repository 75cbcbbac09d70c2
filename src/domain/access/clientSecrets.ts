import { createHash, timingSafeEqual } from 'node:crypto';
import type { DomainContext } from '../../context.js';

/** A client secret: 32 random bytes after a prefix that names the environment. */
export function newClientSecret(context: Pick<DomainContext, 'randomBytes'>, mode: 'live' | 'sandbox'): string {
  return `cess_${mode === 'live' ? 'live' : 'test'}_${context.randomBytes(32).toString('base64url')}`;
}

/** SHA-256 suffices for 256 random bits: they cannot be guessed, so hashing need not be slow. */
export function hashClientSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Compares in constant time. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
