import { readFileSync } from 'node:fs';
import type { Document } from 'openapi-backend';
import { packageRoot } from '../packageRoot.js';

let version: string | undefined;

/**
 * What the server needs of the contract, as `make generate` wrote it: nothing for readers. Read anew for each backend, which
 * changes the object that it is given, and not kept: resolved it is large.
 */
export function readContract(): Document {
  const contract = JSON.parse(readFileSync(new URL('generated/server.json', packageRoot), 'utf8')) as Document;
  version = contract.info.version;
  return contract;
}

/** The contract's version, as in the header `API-Version` (D-26). */
export const contractVersion = (): string => version ?? readContract().info.version;
