import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';

/** The folder of tests/tools, which has an installation of its own. */
export const tools = fileURLToPath(new URL('tests/tools', packageRoot));

/**
 * Whether `make tools` was run; says plainly on standard error when it was not.
 * @throws Error when it was not and REQUIRE_TOOLS is set, as in CI: nothing may be skipped there
 */
export function hasTools(): boolean {
  const found = existsSync(`${tools}/node_modules/.bin/newman`);
  if (!found) {
    const advice = 'Install what it runs: make tools';
    if (process.env['REQUIRE_TOOLS'])
      throw new Error(`REQUIRE_TOOLS is set and tests/tools is not installed. ${advice}`);
    process.stderr.write(`SKIPPED: generated clients, or the Postman collection. ${advice}\n`);
  }
  return found;
}
