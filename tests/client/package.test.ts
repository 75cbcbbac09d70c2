import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';
import { openHarness } from '../support/harness.js';
import { compile } from '../support/packedClient.js';
import { newSandbox } from '../support/sandbox.js';

const run = promisify(execFile);

const harness = await openHarness();

describe('GET /docs/clinical-encounter-client.tgz', () => {
  const folder = temporaryFolder();
  const path = '/docs/clinical-encounter-client.tgz';
  const program = `
    import { createClient } from 'clinical-encounter-client';
    const [, , baseUrl = '', clientId = '', clientSecret = ''] = process.argv;
    const ces = createClient({ baseUrl, clientId, clientSecret });
    void ces.encounters.list().next().then(({ value }) => console.log(value?.encounter_id));
  `;

  beforeAll(async () => {
    // The only dependency is in npm's cache, from which this repository's packages came.
    await run('npm', ['install', '--prefer-offline', `${harness.baseUrl}${path}`], { cwd: folder() });
    await writeFile(folder('program.mts'), program);
    await writeFile(folder('program.cts'), program);
    await compile(folder(), ['program.mts', 'program.cts']);
  });

  it('returns the packed archive to a caller without a token', async () => {
    const response = await fetch(`${harness.baseUrl}${path}`);
    const headers = ['Content-Type', 'Cache-Control', 'Content-Encoding'].map((name) => response.headers.get(name));
    expect([response.status, ...headers]).toEqual([200, 'application/gzip', 'no-cache', null]);
    const packed = await readFile(new URL(`generated${path}`, packageRoot));
    expect(packed.equals(Buffer.from(await response.arrayBuffer()))).toBe(true);
  });

  it.each([
    ['an ES module', 'program.mjs'],
    ['a CommonJS module', 'program.cjs'],
  ])(
    'returns a client that npm installs into an empty folder, and that compiles and runs in %s',
    async (_kind, file) => {
      const { clientId, clientSecret } = await newSandbox(harness);
      const { stdout, stderr } = await run(process.execPath, [folder(file), harness.baseUrl, clientId, clientSecret]);
      expect([Number(stdout) > 0, stderr]).toEqual([true, '']);
    },
  );
});
