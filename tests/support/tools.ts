import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';
import { isThere } from './optional.js';

/** The folder tests/tools, which has a separate installation. */
export const tools = fileURLToPath(new URL('tests/tools', packageRoot));

/** Whether `make tools` was run; as {@link isThere}. */
export function hasTools(): boolean {
  const found = existsSync(`${tools}/node_modules/newman`);
  return isThere(found, 'tests of generated clients or of the Postman collection', 'Install the tools: make tools');
}
