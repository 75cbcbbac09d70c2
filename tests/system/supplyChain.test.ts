import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { licenseFaults, licensesOf, readLockFile } from '../../scripts/licenses.js';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';

const cwd = fileURLToPath(packageRoot);
const folder = temporaryFolder();
const run = promisify(execFile);

describe('the check of licenses', () => {
  it('accepts every package of an installation without development dependencies', async () => {
    expect(licenseFaults(await readLockFile())).toEqual([]);
  });

  it.each([['GPL-3.0-only'], ['MIT AND AGPL-3.0-only'], ['(GPL-2.0 OR LGPL-2.1)'], [undefined]])(
    'refuses a package with the license %s',
    async (license) => {
      const { packages } = await readLockFile();
      const added = { 'node_modules/a/node_modules/@b/c': { version: '1.0.0', ...(license && { license }) } };
      const faults = licenseFaults({ packages: { ...packages, ...added } });
      expect(faults).toEqual([expect.stringMatching(/^@b\/c@1\.0\.0: the license /)]);
    },
  );

  it('accepts a choice of licenses if one is allowed, and ignores development dependencies', () => {
    const packages = {
      'node_modules/either': { version: '1.0.0', license: '(GPL-2.0 OR MIT)' },
      'node_modules/tool': { version: '1.0.0', license: 'GPL-2.0', dev: true },
    };
    expect(licenseFaults({ packages })).toEqual([]);
  });
});

describe('the bill of materials', () => {
  async function listed(...options: readonly string[]): Promise<string[]> {
    const sbom = ['--import', 'tsx', 'scripts/sbom.ts', ...options];
    const { stdout } = await run(process.execPath, sbom, { cwd, maxBuffer: 1e8 });
    const { components } = JSON.parse(stdout) as { components: { 'bom-ref': string }[] };
    return components.map((component) => component['bom-ref']).sort();
  }

  it('lists exactly the packages that the check of licenses examines', async () => {
    expect(await listed()).toEqual([...licensesOf(await readLockFile()).keys()].sort());
  });

  it('lists express and pg for the container image, but neither development tools nor the optional OpenTelemetry SDK', async () => {
    const names = (await listed('--omit=optional')).map((name) => name.replace(/@[^@]+$/, ''));
    expect(names).toEqual(expect.arrayContaining(['express', 'pg', 'semver', 'undici-types']));
    expect(names.filter((name) => /^(prisma|react|jest|typescript|@opentelemetry\/sdk-node)$/.test(name))).toEqual([]);
  });
});

describe('the check of signatures', () => {
  /** Runs the check with a program in place of npm, which prints this. */
  async function check(printed: unknown): Promise<{ code: number; stderr: string }> {
    await writeFile(folder('npm'), `#!/bin/sh\ncat <<'END'\n${JSON.stringify(printed)}\nEND\n`);
    await chmod(folder('npm'), 0o755);
    const env = { ...process.env, PATH: `${folder()}:${process.env['PATH']}` };
    const running = run(process.execPath, ['--import', 'tsx', 'scripts/signatures.ts'], { cwd, env });
    return running.then(
      ({ stderr }) => ({ code: 0, stderr }),
      (error: unknown) => error as { code: number; stderr: string },
    );
  }

  it('fails for a package with a wrong signature and names it', async () => {
    const forged = { invalid: [{ name: 'left', version: '1.0.0' }], missing: [] };
    expect(await check(forged)).toMatchObject({
      code: 1,
      stderr: 'left@1.0.0: invalid signature: install another version, or from a registry that signs it\n',
    });
  });

  it('passes without a network, and prints that no signature was verified', async () => {
    const error = { code: 'ENOTFOUND', summary: 'getaddrinfo ENOTFOUND keys.example.com' };
    const stderr = expect.stringMatching(/^The signatures of packages were not verified: getaddrinfo ENOTFOUND/);
    expect(await check({ error })).toMatchObject({ code: 0, stderr });
  });

  it('fails for another error of npm', async () => {
    expect(await check({ error: { code: 'EAUDIT', summary: 'broken' } })).toMatchObject({ code: 1 });
  });
});
