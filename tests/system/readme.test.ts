import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/packageRoot.js';
import { isThere, packages } from '../support/optional.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { openTerminal } from '../support/terminal.js';

// What people paste first is run as it is, against what `make start` starts.

/** Milliseconds; a process is started, for which a busy machine needs its time. */
const patience = 180_000;

const shells = { zsh: ['zsh', '-f'], bash: ['bash', '--norc', '--noprofile'] } as const;
const hasShells = isThere(
  ['zsh', 'tmux'].every((program) => spawnSync(program, ['-V']).error === undefined),
  'the README pasted into shells',
  packages('tmux zsh'),
);

let dataDir: string;
let removeDataDir: () => Promise<void>;
/** Where the reader of the README is: `.data` lies in it. */
let folder: string;
let baseUrl: string;

beforeAll(async () => {
  ({ dataDir, remove: removeDataDir } = await temporaryDataDir());
  folder = await mkdtemp(join(tmpdir(), 'ces-reader-'));
  await symlink(dataDir, join(folder, '.data'));
  baseUrl = await startServer({ DATA_DIR: dataDir }).started;
}, patience);

afterAll(async () => {
  await killServers();
  await removeDataDir();
  await rm(folder, { recursive: true });
});

const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block = '']) => block);

/** The part of a document between two texts that must be in it. */
async function part(file: string, from: string, to: string): Promise<string> {
  const text = await readFile(new URL(file, packageRoot), 'utf8');
  const [start, end] = [text.indexOf(from), text.indexOf(to)];
  if (start < 0 || end < start) throw new Error(`${file} has no part from "${from}" to "${to}"`);
  return text.slice(start, end);
}

/** The blocks of the README's flow, for the address of this server. */
async function flow(): Promise<string[]> {
  const blocks = blocksOf(await part('README.md', 'In a second terminal', '**The sandbox** is'));
  return blocks.map((block) => block.replace('http://127.0.0.1:3000', baseUrl));
}

describe.each(Object.entries(shells))('pasted into %s', (name, command) => {
  const test = hasShells ? it : it.skip;

  test(
    `the README's flow makes a paid order, and a year later the approval has expired`,
    async () => {
      const terminal = await openTerminal(command, folder);
      try {
        for (const block of await flow()) expect([block, await terminal.paste(block)]).toEqual([block, 0]);
        const shown = await terminal.shown();
        expect(shown).toMatch(/"email":"maria\.lopez@example\.com".*\n201\n/);
        expect(shown).toMatch(/"gfe_data":\[\{[^}]*"status":"pending_review"\}\]\}\n/);
        expect(shown).toContain('"order_status":"paid"');
        for (const type of ['encounter.completed', 'order.created', 'order.paid']) {
          expect(shown).toMatch(new RegExp(`"type":"${type}","timestamp":"[^"]+","data":\\{[^}]*"ORD-10100\\d"`));
        }
        expect(shown).toMatch(/"offsetSeconds":31708800\}\nexpired\n/);
        expect(shown).toMatch(/^204$/m);
        expect(shown).not.toContain('urn:clinical-encounter:problem:');
      } finally {
        await terminal.close();
      }
    },
    patience,
  );

  test('every block of README and guide is understood', async () => {
    const texts = await Promise.all(
      ['README.md', 'openapi/info.md'].map((file) => readFile(new URL(file, packageRoot), 'utf8')),
    );
    for (const block of texts.flatMap(blocksOf)) {
      // An interactive zsh knows no comments: it would run them.
      expect(block).not.toMatch(/(^|\s)#/m);
      execFileSync(name, ['-n', '-c', block]);
    }
  });
});

it(
  'the guide’s commands for the sandbox work after it',
  async () => {
    const [setting = '', token = ''] = await flow();
    const sandbox = blocksOf(await part('openapi/info.md', '# The sandbox', '# The mock'));
    const script = [setting, token, ...sandbox].join('\n');
    const shown = execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, encoding: 'utf8' });
    expect(shown).toContain('"encounter_id":100124');
    expect(shown).toContain('"type":"order.paid"');
    // Those that are asked for.
    const problems = [...shown.matchAll(/urn:clinical-encounter:problem:(\w+)/g)].map(([, code]) => code);
    expect(problems).toEqual(['rate_limited', 'dependency_unavailable']);
  },
  patience,
);
