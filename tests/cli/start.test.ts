import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/cli/program.js';
import { packageRoot, version } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';
import { refusal } from './operator.js';
import { runProcess } from './runProgram.js';

const folder = temporaryFolder();
const root = fileURLToPath(packageRoot);
const shown = `${version} (contract ${version})\n`;

describe('ces', () => {
  it('starts in another folder through a symbolic link, as npm installs it', async () => {
    await symlink(`${root}scripts/ces`, folder('ces'));
    expect(execFileSync('./ces', ['--version'], { cwd: folder(), encoding: 'utf8' })).toBe(shown);
  });

  it('starts with npx in the folder of the service', () => {
    expect(execFileSync('npx', ['ces', '--version'], { cwd: root, encoding: 'utf8' })).toBe(shown);
  });

  it('prints the build command and exits when the build is missing', async () => {
    await mkdir(folder('clone/scripts'), { recursive: true });
    await cp(`${root}scripts/ces`, folder('clone/scripts/ces'));
    const { status, stdout, stderr } = spawnSync(folder('clone/scripts/ces'), ['tenant', 'list'], { encoding: 'utf8' });
    const message = `The build is missing, or ${userInfo().username} may not read it: run "make build" in ${folder('clone')}, or permit that.\n`;
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: message });
  });

  it('exits with 1 and prints one line when a command fails, and exits with 2 for wrong usage', async () => {
    const refused = runProcess({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }, 'tenant', 'list');
    const message =
      'The database cannot be used now: connect ECONNREFUSED 127.0.0.1:1. Start PostgreSQL, free its resources or locks, or correct DATABASE_URL.\n';
    expect(await refused).toEqual(refusal(1, message));
    const misused = runProcess({}, 'tenant', 'create');
    expect(await misused).toEqual(refusal(2, "error: missing required argument 'name'\n"));
  });

  it('colors warnings, findings, errors and wrong usage on a terminal', async () => {
    const printed: string[] = [];
    const print = (text: string): void => void printed.push(text);
    const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/x', BASE_URL: 'http://127.0.0.1:1' };
    const environment = { ...nowhere, DATA_DIR: folder(), LOGLEVEL: 'debug' };
    const color = (name: string, text: string): string => `<${name}>${text}</${name}>`;
    const terminal = { environment, out: print, err: print, color, screen: null };
    for (const args of [['doctor'], ['tenant', 'create']]) await runCommand(args, terminal);
    const text = printed.join('');
    expect(text).toMatch(/^<yellow>Warning: LOGLEVEL .*\n<\/yellow>/);
    for (const finding of ['<green>ok     <', '<yellow>warning<', '<red>failure<'])
      expect(text).toContain(`\n${finding}`);
    expect(text).toMatch(/<red>Failed: .*<\/red>\n<red>error: missing required argument 'name'\n<\/red>$/);
  });
});
