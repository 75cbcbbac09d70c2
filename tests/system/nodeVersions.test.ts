import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { isThere } from '../support/optional.js';
import { tools } from '../support/tools.js';

const cwd = fileURLToPath(packageRoot);
const run = promisify(execFile);

const binaries = ['22', '24'].map((major) => ({
  major,
  node: join(tools, `node_modules/node${major}-${process.platform}-${process.arch}/bin/node`),
}));
const found = binaries.every(({ node }) => existsSync(node));
const withNodes = isThere(found, 'Node 22 and 24', 'Install the tools, on Linux: make tools') ? it : it.skip;

// The tests of metrics start a built server with two workers, create patients, and stop it. `make test-nodes` runs more.
const files = ['tests/unit', 'tests/system/metrics'];

withNodes.each(binaries)(
  'on Node $major the unit tests pass, and a built server starts, creates patients and exits cleanly',
  async ({ major, node }) => {
    expect((await run(node, ['--version'])).stdout).toMatch(new RegExp(`^v${major}\\.`));
    const jest = ['node_modules/jest/bin/jest.js', '--config', 'tests/jest.config.js', ...files];
    // The database is the one of this run.
    const env = { ...process.env, TEST_UNIT: '1', NODE_OPTIONS: '--import tsx' };
    expect((await run(node, jest, { cwd, env })).stderr).toMatch(/^Tests: +\d+ passed, \d+ total$/m);
  },
  180_000,
);
