import { readFileSync } from 'node:fs';
import type { Document } from 'openapi-backend';
import { packageRoot } from '../packageRoot.js';

/**
 * The contract without `$ref`, as `make generate` wrote it. Read anew for each backend, which changes the object that it
 * is given.
 */
export function readContract(): Document {
  return JSON.parse(readFileSync(new URL('generated/dereferenced.json', packageRoot), 'utf8')) as Document;
}

/** The contract's version, as in the header `API-Version` (D-26). */
export const contractVersion = (): string => readContract().info.version;
