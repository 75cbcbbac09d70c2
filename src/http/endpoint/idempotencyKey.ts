import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { IdempotencyRequest } from '../../context.js';
import type { Head } from './parameters.js';

/** The header's name in the contract. */
export const KEY_HEADER = 'Idempotency-Key';

/**
 * The key of a request to an operation that takes one, without quotation marks (the IETF draft's sf-string), and the
 * fingerprint of what is asked: of path and canonical JSON (RFC 8785), so that the order of members does not matter.
 */
export function idempotencyOf(operationId: string, { headers, path }: Head, body: unknown): IdempotencyRequest | null {
  const given = headers[KEY_HEADER.toLowerCase()];
  if (typeof given !== 'string') return null;
  const asked = `${path}\n${canonicalize(body) ?? ''}`;
  return {
    operationId,
    key: /^"(.*)"$/.exec(given)?.[1] ?? given,
    fingerprint: Buffer.from(hash('sha256', asked, 'hex'), 'hex'),
  };
}
