import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';

const folder = temporaryFolder();
const pathOf = (file: string): string => fileURLToPath(new URL(file, packageRoot));

/** Test files by name. `stuck` waits for a process that would outlive it if the runner did not end it. */
const files = {
  stuck: `
    import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    it('waits', async () => {
      const child = spawn('sleep', ['600']);
      writeFileSync(new URL('child', import.meta.url), String(child.pid));
      await new Promise((resolve) => child.once('exit', resolve));
    });`,
  ended: `it('ends its process', () => process.exit(3));`,
  broken: `throw new Error('broken while it loads');`,
  first: `it('passes', () => expect(1).toBe(1));`,
  last: `it('passes', () => expect(2).toBe(2));`,
};

// Without /proc, only the limit of an hour ends a file that hangs.
(process.platform === 'linux' ? it : it.skip)(
  'a test file that hangs, ends its process or does not load fails alone, its processes end, and the summary follows',
  async () => {
    for (const [name, text] of Object.entries(files)) await writeFile(folder(`${name}.test.mjs`), text);
    const config = { testRegex: 'test\\.mjs$', runner: pathOf('tests/support/runner.js'), maxWorkers: 2 };
    await writeFile(folder('jest.config.json'), JSON.stringify(config));
    const args = [pathOf('node_modules/jest/bin/jest.js'), '--config', folder('jest.config.json')];
    const env = { PATH: process.env['PATH'], TEST_QUIET_MS: '5000' };
    const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
      execFile(process.execPath, args, { cwd: folder(), env }, (error, _stdout, output) =>
        resolve({ code: error?.code, output }),
      );
    });
    expect(output).toContain('The test file used almost no CPU for 5 seconds');
    expect(output).toContain('The test file ended its process (3)');
    expect(output).toContain('broken while it loads');
    expect(output).toMatch(/^Test Suites: 3 failed, 2 passed, 5 total\nTests: +2 passed, 2 total$/m);
    expect(code).toBe(1);
    const child = await readFile(folder('child'), 'utf8');
    while (await isRunning(child)) await delay(20);
  },
  120_000,
);

/** A killed process stays a zombie until the first process of the container collects it. */
const isRunning = async (pid: string): Promise<boolean> =>
  /\) [^Z]/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
