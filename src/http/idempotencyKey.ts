import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Operation } from 'openapi-backend';
import type { IdempotencyRequest } from '../context.js';

/** What is needed of a request that was validated. */
interface KeyedRequest {
  /** Name and value, names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly path: string;
  readonly body: unknown;
}

const HEADER = 'Idempotency-Key';

/**
 * The key of a request to an operation that takes one, without quotation marks (the IETF draft's sf-string), and the
 * fingerprint of what is asked: of path and canonical JSON (RFC 8785), so that the order of members does not matter.
 */
export function idempotencyOf(
  { operationId = '', parameters = [] }: Operation,
  { headers, path, body }: KeyedRequest,
): IdempotencyRequest | null {
  const given = headers[HEADER.toLowerCase()];
  const takesKey = parameters.some((parameter) => 'name' in parameter && parameter.name === HEADER);
  if (!takesKey || typeof given !== 'string') return null;
  const asked = `${path}\n${canonicalize(body) ?? ''}`;
  return {
    operationId,
    key: /^"(.*)"$/.exec(given)?.[1] ?? given,
    fingerprint: Buffer.from(hash('sha256', asked, 'hex'), 'hex'),
  };
}
