import { readFileSync } from 'node:fs';
import type { Document } from 'openapi-backend';
import { packageRoot } from '../../packageRoot.js';

let version: string | undefined;

/**
 * What the server needs of the contract, as `make generate` wrote it. Not kept, because resolved it is large, and each
 * backend changes the object that it is given.
 */
export function readContract(): Document {
  const contract = JSON.parse(readFileSync(new URL('generated/server.json', packageRoot), 'utf8')) as Document;
  version = contract.info.version;
  return contract;
}

/** The contract's version, as in the header `API-Version` (D-26). */
export const contractVersion = (): string => version ?? readContract().info.version;
