import { readFileSync } from 'node:fs';
import type { Document } from 'openapi-backend';
import { packageRoot } from '../../packageRoot.js';

/** The parts of the contract that the server needs. Not cached: openapi-backend modifies this large object. */
export const readContract = (): Document =>
  JSON.parse(readFileSync(new URL('generated/server.json', packageRoot), 'utf8')) as Document;
