import { readFileSync } from 'node:fs';
import type { Document } from 'openapi-backend';
import { packageRoot } from '../../packageRoot.js';

let version: string | undefined;

/** The parts that the server needs. Not cached: openapi-backend modifies the object, and it is large. */
export function readContract(): Document {
  const contract = JSON.parse(readFileSync(new URL('generated/server.json', packageRoot), 'utf8')) as Document;
  version = contract.info.version;
  return contract;
}

/** The value of the header `API-Version` (D-26). */
export const contractVersion = (): string => version ?? readContract().info.version;
