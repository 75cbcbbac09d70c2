import { execFileSync, spawnSync } from 'node:child_process';
import { readdir, readFile, symlink } from 'node:fs/promises';
import { packageRoot } from '../../src/packageRoot.js';
import { runJson } from '../cli/runProgram.js';
import { temporaryFolder } from '../support/folder.js';
import { isThere, packages } from '../support/optional.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { openTerminal } from '../support/terminal.js';

// Runs the blocks that people paste first, unchanged, against the server of `make start`.

/** Milliseconds to start processes on a busy machine. */
const patience = 180_000;

const shells = { zsh: ['zsh', '-f'], bash: ['bash', '--norc', '--noprofile'] } as const;
const hasShells = isThere(
  ['zsh', 'tmux', 'jq'].every((program) => spawnSync(program, ['-V']).error === undefined),
  'the README pasted into shells',
  packages('jq tmux zsh'),
);

let removeDataDir: () => Promise<void>;
/** Sets the credentials that the operator gives to a provider's and a pharmacy's system. */
let credentials = '';
/** The reader's working folder, which contains `.data`. */
const folder = temporaryFolder();
let baseUrl: string;

beforeAll(async () => {
  const { dataDir, remove } = await temporaryDataDir();
  removeDataDir = remove;
  await symlink(dataDir, folder('.data'));
  baseUrl = await startServer({ DATA_DIR: dataDir }).started;
  for (const [preset, name] of Object.entries({ provider: 'PROVIDER', pharmacy: 'PHARMACY_CLIENT' })) {
    const command = ['client', 'create', '--tenant', 'demo', '--preset', preset];
    const { clientId, clientSecret } = await runJson({ DATA_DIR: dataDir }, ...command);
    credentials += `${name}_ID=${clientId}\n${name}_SECRET=${clientSecret}\n`;
  }
}, patience);

afterAll(async () => {
  await killServers();
  await removeDataDir();
});

const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block = '']) => block);

/** The codes of all problems in the output of a terminal. */
const problemsIn = (shown: string): string[] =>
  [...shown.matchAll(/"type":"urn:clinical-encounter:problem:(\w+)/g)].map(([, code = '']) => code);

/** The part of a document between two texts that it must contain. */
async function part(file: string, from: string, to: string): Promise<string> {
  const text = await readFile(new URL(file, packageRoot), 'utf8');
  const [start, end] = [text.indexOf(from), text.indexOf(to)];
  if (start < 0 || end < start) throw new Error(`${file} has no part from "${from}" to "${to}"`);
  return text.slice(start, end);
}

/** The first calls of the README, with the address of this server. */
async function firstCalls(): Promise<string[]> {
  const blocks = blocksOf(await part('README.md', '## The first three calls', '## Where to go'));
  return blocks.map((block) => block.replace('http://127.0.0.1:3000', baseUrl));
}

/** The first calls of the README and the chapters of the guide that follow them. */
async function flow(): Promise<string[]> {
  const quickStart = await part('openapi/info.md', '## 3. Create the patient', '# Access tokens');
  const wholeEncounter = await part('openapi/info.md', '## A whole encounter', '## Errors and delays on demand');
  return [...(await firstCalls()), ...blocksOf(quickStart), ...blocksOf(wholeEncounter)];
}

/** The first calls, the patient of the quick start, and a chapter of the guide with a day. */
async function day(from: string, to: string): Promise<string[]> {
  const patient = await part('openapi/info.md', '## 3. Create the patient', '## 4. Resolve the treatments');
  const chapter = await part('openapi/info.md', from, to);
  return [...(await firstCalls()), ...blocksOf(patient), credentials, ...blocksOf(chapter)];
}

/** Pastes the blocks into a new terminal, each of which must succeed; returns all output. */
async function pasted(command: readonly string[], blocks: readonly string[]): Promise<string> {
  const terminal = await openTerminal(command, folder());
  try {
    for (const block of blocks) expect([block, await terminal.paste(block)]).toEqual([block, 0]);
    return await terminal.shown();
  } finally {
    await terminal.close();
  }
}

describe.each(Object.entries(shells))('pasted into %s', (name, command) => {
  const test = hasShells ? it : it.skip;

  test(
    'README and guide lead from a token to a paid order and, a year later, an expired approval',
    async () => {
      const shown = await pasted(command, await flow());
      expect(shown).toMatch(/"email":"maria\.lopez@example\.com".*\n201\n/);
      expect(shown).toMatch(/"gfe_data":\[\{[^}]*"status":"pending_review"\}\]\}\n/);
      expect(shown).toContain('"order_status":"paid"');
      for (const type of ['encounter.completed', 'order.created', 'order.paid']) {
        expect(shown).toMatch(new RegExp(`"type":"${type}","timestamp":"[^"]+","data":\\{[^}]*"ORD-10100\\d"`));
      }
      expect(shown).toMatch(/"offsetSeconds":31708800\}\s*expired\s/);
      expect(shown).toMatch(/^204$/m);
      // Jane is in the fixtures: the guide shows how to find her.
      expect(problemsIn(shown)).toEqual(['patient_email_taken']);
    },
    patience,
  );

  test(
    "a provider's day reviews a chart that changed, asks for information, adds to the review and revokes the approval",
    async () => {
      const shown = await pasted(command, await day("## A provider's day", '## Licences'));
      expect(shown).toMatch(/"code":"chart_changed","changed":\["medicalHistory"\]\}/);
      expect(shown).toMatch(
        /Pregnant\.\s+"completed"\s+.*"approved","treatmentIds":\["\S+","(\S+)"\],"declinedTreatmentIds":\["\1"\]/,
      );
      expect(shown).toMatch(/in_review\s+awaiting_information\s+pending_review\s/);
      expect(shown).toContain('{"status":"revoked","revocationReason":"Contraindicated during pregnancy."}');
      expect(problemsIn(shown)).toEqual(['patient_email_taken']);
    },
    patience,
  );

  test(
    "a pharmacy's day ships a prescription, cancels a held line and waits for an address",
    async () => {
      const shown = await pasted(command, await day("## A pharmacy's day", '## Fulfilment'));
      expect(shown).toMatch(/ORD-100052\s+ORD-100051\s/);
      for (const status of ['accepted', 'exception', 'shipped', 'delivered']) {
        expect(shown).toContain(`[{"sku":"SEMA-25","status":"${status}"}]`);
      }
      expect(shown).toMatch(/"approval_ended"\s+.*"pending"\},.*"cancelled"\}\]\s+.*"accepted"\},.*"cancelled"\}\]/);
      expect(shown).toMatch(/"code":"ship_to_required".*"#\/shipTo\/city"/);
      expect(shown).toMatch(
        /Austin\s+\[\{"sku":"BTX-100","status":"shipped"\},\{"sku":"SEMA-25","status":"cancelled"\}\]/,
      );
      expect(shown).toMatch(/\["order\.held",\{"reason":"revoked","order_no":"ORD-100052"/);
      expect(problemsIn(shown)).toEqual(['patient_email_taken']);
    },
    patience,
  );

  test('parses every block of README, guide and handbook', async () => {
    const chapters = (await readdir(new URL('scripts/production', packageRoot))).filter((name) => name.endsWith('.md'));
    const files = ['README.md', 'openapi/info.md', ...chapters.map((name) => `scripts/production/${name}`)];
    const texts = await Promise.all(files.map((file) => readFile(new URL(file, packageRoot), 'utf8')));
    for (const block of texts.flatMap(blocksOf)) {
      // An interactive zsh would run comments as commands.
      expect(block).not.toMatch(/(^|\s)#/m);
      execFileSync(name, ['-n', '-c', block]);
    }
  });
});

it(
  "the guide's sandbox commands succeed after the first calls of the README",
  async () => {
    const [setting = '', token = ''] = await firstCalls();
    const sandbox = blocksOf(await part('openapi/info.md', '# The sandbox', '## A whole encounter'));
    const behavior = blocksOf(await part('openapi/info.md', '## Errors and delays on demand', '# The mock'));
    const script = [setting, token, ...sandbox, ...behavior].join('\n');
    const shown = execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder(), encoding: 'utf8' });
    expect(shown).toContain('"encounter_id":100124');
    expect(shown).toContain('"type":"order.paid"');
    // The commands request these problems by header.
    expect(problemsIn(shown)).toEqual(['rate_limited', 'dependency_unavailable']);
  },
  patience,
);
