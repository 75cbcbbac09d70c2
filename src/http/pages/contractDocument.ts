import { readFileSync } from 'node:fs';
import type { Document } from 'openapi-backend';
import { packageRoot } from '../../packageRoot.js';

/** The parts that the server needs. Not cached: openapi-backend modifies the object, and it is large. */
export const readContract = (): Document =>
  JSON.parse(readFileSync(new URL('generated/server.json', packageRoot), 'utf8')) as Document;
