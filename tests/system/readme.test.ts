import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { packageRoot } from '../../src/packageRoot.js';
import { runJson } from '../cli/runProgram.js';
import { temporaryFolder } from '../support/folder.js';
import { startMock } from '../support/mock.js';
import { isThere, packages } from '../support/optional.js';
import { startServer } from '../support/serverProcess.js';
import { openStage } from '../support/stage.js';
import { openTerminal } from '../support/terminal.js';

// Runs the blocks that people paste first, against a server like that of `make start` and against the mock.

const shells = { zsh: ['zsh', '-f'], bash: ['bash', '--norc', '--noprofile'] } as const;
const hasShells = isThere(
  ['zsh', 'tmux', 'jq', 'uuidgen'].every((program) => spawnSync(program, ['-V']).error === undefined),
  'the README pasted into shells',
  packages('jq tmux uuid-runtime zsh'),
);

/** Shell commands that set the credentials that the operator gives to a provider's and a pharmacy's system. */
let credentials = '';
/** The reader's working folder, which contains `.data`. */
const folder = temporaryFolder();

const { dataDir, environment } = await openStage();
await symlink(dataDir, folder('.data'));
// Within a minute, the tests together exceed the default limit of resets and clock moves.
await startServer({ ...environment, RATE_LIMIT_BULK: '50' }, '--demo').started;
for (const [preset, name] of Object.entries({ provider: 'PROVIDER', pharmacy: 'PHARMACY_CLIENT' })) {
  const command = ['client', 'create', '--tenant', 'demo', '--preset', preset];
  const { clientId, clientSecret } = await runJson(environment, ...command);
  credentials += `${name}_ID=${clientId}\n${name}_SECRET=${clientSecret}\n`;
}

const blocksOf = (text: string, language = 'bash'): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block);

/** The text with each id and each number of a record replaced by X, because every run issues others. */
const withoutIds = (text: string): string => text.replaceAll(/[\da-f]{8}-[-\da-f]{27}|\b10\d{4}\b/g, 'X');

/** The codes of the problems in the output of a terminal, if shown as they were sent. */
const problemsIn = (shown: string): string[] =>
  [...shown.matchAll(/"type":"urn:clinical-encounter:problem:(\w+)/g)].map(([, code = '']) => code);

/** The part of a document between two texts that it must contain. */
async function part(file: string, from: string, to: string): Promise<string> {
  const text = await readFile(new URL(file, packageRoot), 'utf8');
  const [start, end] = [text.indexOf(from), text.indexOf(to)];
  if (start < 0 || end < start) throw new Error(`${file} lacks "${from}", then "${to}": correct this test`);
  return text.slice(start, end);
}

const quickStart = (): Promise<string> => part('README.md', '## Quick start', '## Where to go');

/** The blocks of the quick start's settings and token, credentials, and the guide's chapter about a day. */
async function day(from: string, to: string): Promise<string[]> {
  const [settings = '', token = ''] = blocksOf(await quickStart());
  return [settings, token, credentials, ...blocksOf(await part('openapi/info.md', from, to))];
}

/** Expects the texts in the terminal's output in this order, without comparing ids. */
function expectInOrder(shown: string, texts: readonly string[]): void {
  let rest = withoutIds(shown);
  for (const text of texts.map(withoutIds)) {
    expect(rest).toContain(text);
    rest = rest.slice(rest.indexOf(text) + text.length);
  }
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

(hasShells ? it : it.skip).each(Object.keys(shells))(
  'every shell block of README, guide and handbook has valid syntax in %s',
  async (name) => {
    const chapters = (await readdir(new URL('scripts/production', packageRoot))).filter((name) => name.endsWith('.md'));
    const files = ['README.md', 'openapi/info.md', ...chapters.map((name) => `scripts/production/${name}`)];
    const texts = await Promise.all(files.map((file) => readFile(new URL(file, packageRoot), 'utf8')));
    const blocks = texts.flatMap((text) => blocksOf(text));
    // An interactive zsh would run comments as commands.
    for (const block of blocks) expect(block).not.toMatch(/(^|\s)#/m);
    await mkdir(folder(name));
    await Promise.all(blocks.map((block, index) => writeFile(folder(`${name}/${index}`), block)));
    execFileSync('sh', ['-c', `for block in *; do ${name} -n "$block" || exit 1; done`], { cwd: folder(name) });
  },
);

// The blocks run in zsh, which refuses more than bash. The test above checks their syntax in both shells.
describe('pasted into zsh,', () => {
  const test = hasShells ? it : it.skip;

  test('README and guide lead from a token to a paid order and, a year later, an expired approval', async () => {
    const start = await quickStart();
    const visit = await part('openapi/info.md', '## A scheduled visit', '## Errors and delays on demand');
    const shown = await pasted(shells.zsh, [...blocksOf(start), ...blocksOf(visit)]);
    expectInOrder(shown, blocksOf(start, 'json'));
    expect(shown).toContain('"order_status": "paid"');
    for (const type of ['encounter.completed', 'order.created', 'order.paid']) {
      expect(shown).toMatch(new RegExp(`\\["${type}",\\{[^}]*"ORD-10100\\d"`));
    }
    expect(shown).toMatch(/172800\s+completed\s[^]*"order_no": "ORD-10100\d",\s+"order_status": "paid"/);
    // A command that selects from a problem prints null.
    expect(shown).not.toMatch(/^null$/m);
    expect(shown).toMatch(/31881600\s+expired\s/);
    expect(shown).toMatch(/^204$/m);
    expect(problemsIn(shown)).toEqual([]);
  });

  test("a provider's day reviews a chart that changed, asks for information and revokes the approval", async () => {
    const shown = await pasted(shells.zsh, await day("## A provider's day", '## Licenses'));
    expect(shown).toMatch(/"code":"chart_changed","changed":\["medicalHistory"\]\}/);
    expect(shown).toMatch(
      /Pregnant\.\s+"completed"\s+.*"approved","treatmentIds":\["\S+","(\S+)"\],"declinedTreatmentIds":\["\1"\]/,
    );
    expect(shown).toMatch(/in_review\s+awaiting_information\s+pending_review\s/);
    expect(shown).toContain('{"status":"revoked","revocationReason":"Contraindicated during pregnancy."}');
    expect(problemsIn(shown)).toEqual([]);
  });

  test("a pharmacy's day ships a prescription, cancels a held line and waits for an address", async () => {
    const shown = await pasted(shells.zsh, await day("## A pharmacy's day", '## Fulfilment'));
    expect(shown).toMatch(/ORD-100052\s+ORD-100051\s/);
    for (const status of ['accepted', 'exception', 'shipped', 'delivered']) {
      expect(shown).toContain(`[{"sku":"SEMA-25","status":"${status}"}]`);
    }
    expect(shown).toMatch(/"approval_ended"\s+.*"pending"\},.*"cancelled"\}\]/);
    expect(shown).toMatch(/"code":"ship_to_required".*"#\/shipTo\/city"/);
    expect(shown).toMatch(
      /Austin\s+.*"BTX-100","status":"accepted"\},.*"cancelled"\}\]\s+.*"BTX-100","status":"shipped"\},.*"cancelled"\}\]/,
    );
    expect(shown).toMatch(/\["order\.held",\{"reason":"revoked","order_no":"ORD-100052"/);
    expect(problemsIn(shown)).toEqual([]);
  });
});

it('README and guide have the same quick start', async () => {
  const guide = await part('openapi/info.md', '## 1. Obtain', 'From here, read');
  expect((await part('README.md', '### 1. Obtain', 'Continue in the same terminal')).replaceAll(/^###/gm, '##')).toBe(
    guide,
  );
});

it('the quick start prints why a token or a patient is refused', async () => {
  const [settings = '', token = '', patient = ''] = blocksOf(await quickStart());
  const shownBy = (...script: readonly string[]): string =>
    spawnSync('bash', ['-c', script.join('\n')], { cwd: folder(), encoding: 'utf8' }).stderr;
  expect(shownBy(settings, 'CLIENT_SECRET=wrong', token)).toContain('credentials');
  expect(shownBy(settings, 'BASE_URL=http://127.0.0.1:1', token)).toContain('Failed to connect');
  expect(shownBy(settings, token, patient.replace('countryCode', 'country'))).toContain('countryCode: is required');
});

describe('on the mock,', () => {
  let mock: Awaited<ReturnType<typeof startMock>>;

  beforeAll(async () => {
    mock = await startMock();
  });
  afterAll(() => mock.stop());

  const run = (blocks: readonly string[]): string => {
    const script = blocks.join('\n').replace(/(?<=BASE_URL=).*/, mock.baseUrl);
    return execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder(), encoding: 'utf8' });
  };

  it('the quick start prints the JSON that it shows', async () => {
    const start = await quickStart();
    expect(run(blocksOf(start))).toBe(blocksOf(start, 'json').join(''));
  });

  it('every block of the guide succeeds, without the lines that wait for a delivery, which the mock does not send', async () => {
    const guide = await readFile(new URL('openapi/info.md', packageRoot), 'utf8');
    const [settings = '', ...blocks] = blocksOf(guide);
    const answered = blocks.map((block) => block.replaceAll(/^wait_until '.*$/gm, ''));
    expect(problemsIn(run([settings, credentials, ...answered]))).toEqual([]);
  });
});

it("the guide's sandbox commands succeed after the quick start's token", async () => {
  const [setting = '', token = ''] = blocksOf(await quickStart());
  const sandbox = blocksOf(await part('openapi/info.md', '# The sandbox', '## A scheduled visit'));
  const behavior = blocksOf(await part('openapi/info.md', '## Errors and delays on demand', '# For providers'));
  const webhooks = blocksOf(await part('openapi/info.md', '# Webhooks', '## A receiver'));
  const outage = blocksOf(await part('openapi/info.md', '## Rehearse an outage', '## The secret'));
  const script = [setting, token, ...sandbox, ...webhooks, ...outage, ...outage, ...behavior].join('\n');
  const shown = execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder(), encoding: 'utf8' });
  expect(shown).toContain('"encounter_id":100124');
  expect(shown).toMatch(/"secret":"whsec_/);
  expect(shown).toContain('"type":"order.paid"');
  // Retried after an hour of failures, and in the feed once; then the same again.
  const rehearsed = /^\["([-\da-f]{36})","delivered",503,503,(503,)*204\]\n\["\1","webhook.ping"\]$/gm;
  expect(shown.match(rehearsed)).toHaveLength(2);
  // The commands request these problems by header.
  expect(problemsIn(shown)).toEqual(['rate_limited', 'dependency_unavailable']);
});
