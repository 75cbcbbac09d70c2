import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';
import { hasTools, tools } from '../support/tools.js';

const root = fileURLToPath(packageRoot);
const contract = join(root, 'generated/openapi.json');
// Run the linters elsewhere: Redocly would find our configuration in the folder of the repository.
const folder = temporaryFolder();

/** What a linter prints; it fails if it finds something. */
const outputOf = (program: string, ...args: string[]): Promise<string> =>
  promisify(execFile)(process.execPath, [program, ...args], {
    cwd: folder(),
    maxBuffer: 2 ** 26,
    env: { CONTRACT: contract, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stdout: string }).stdout,
  );

/** Rules of Redocly that the contract breaks on purpose, and where. */
const reviewed: Readonly<Record<string, RegExp>> = {
  // Webhooks are named after their events. With an id, generators would make operations of them.
  'operation-operationId': /^#\/webhooks\//,
};

it('Redocly finds only the reviewed exceptions to recommended-strict', async () => {
  const args = ['lint', '--extends', 'recommended-strict', '--max-problems', '1000', '--format', 'json', contract];
  const output = await outputOf(join(root, 'node_modules/.bin/redocly'), ...args);
  const { problems } = JSON.parse(output) as { problems: { ruleId: string; location: { pointer: string }[] }[] };
  const found = problems.map(({ ruleId, location }) => ({ ruleId, pointer: location[0]?.pointer ?? '' }));
  expect(found.filter(({ ruleId, pointer }) => !reviewed[ruleId]?.test(pointer))).toEqual([]);
  for (const rule of Object.keys(reviewed)) expect(found.map(({ ruleId }) => ruleId)).toContain(rule);
});

(hasTools() ? it : it.skip)(
  'Spectral (oas) and @readme/openapi-parser find nothing',
  async () => {
    expect(await outputOf(join(tools, 'lint.mjs'))).toBe('both linters have run\n');
  },
  120_000,
);
