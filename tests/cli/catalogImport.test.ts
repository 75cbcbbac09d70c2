import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Prisma } from '../../generated/prisma/client.js';
import { runCommand } from '../../src/cli/program.js';
import { packageRoot } from '../../src/packageRoot.js';
import { inTurn } from '../support/lockWaits.js';
import { until } from '../support/until.js';
import { refusal, openOperator } from './operator.js';
import { startProcess } from './runProgram.js';

const { harness, environment, run, json } = await openOperator();
const inFolder = (name: string): string => join(harness.dataDir, name);
const demoFile = (name: string): string => fileURLToPath(new URL(`prisma/demo/${name}.json`, packageRoot));
const [demoCatalog, otherCatalog] = [demoFile('demo'), demoFile('harbor')];
for (const name of ['First', 'Second', 'Third', 'Fourth']) await json('tenant', 'create', name);

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = inFolder(name);
  await writeFile(path, content);
  return path;
}

it('catalog import reports created rows, and only unchanged rows when it runs again', async () => {
  const args = ['catalog', 'import', demoCatalog, '--tenant', 'First'];
  const created = (count: number) => ({ created: count, updated: 0, unchanged: 0 });
  expect(await json(...args)).toEqual({
    clinics: created(7),
    pharmacies: created(3),
    categories: created(6),
    subcategories: created(11),
    products: created(14),
  });
  const again = await run(...args);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toMatch(/^ +CREATED +UPDATED +UNCHANGED\nclinics +0 +0 +7\n(\w+ +0 +0 +\d+\n){4}$/);
});

it('catalog import prints faults of the file as file:line:column, writes no row and exits with 1', async () => {
  const path = await file(
    'faulty.json',
    '{\n  "clinics": [{ "legalName": "A" }],\n  "products": [\n    { "sku": "X", "price": 1 }\n  ]\n}\n',
  );
  const args = ['catalog', 'import', path, '--tenant', 'second'];
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toContain(`${path}:2:15: /clinics/0 email is missing`);
  expect(lines).toContain(
    `${path}:4:19: /products/0/price is not a member that belongs here: remove it, or correct its name`,
  );
  expect(lines.at(-1)).toBe(
    `${lines.length - 1} faults: nothing was imported. Correct the file, then import it again.`,
  );
  const { error } = JSON.parse((await run(...args, '--json')).stderr);
  expect(error).toEqual({
    message: stderr.trimEnd(),
    faults: expect.arrayContaining([{ line: 2, column: 15, pointer: '/clinics/0', message: 'email is missing' }]),
  });
  expect(await harness.domain.db.prisma.clinic.count({ where: { tenantId: 'second' } })).toBe(0);
});

it.each([
  ['a file that does not exist', async () => inFolder('none.json'), /none\.json cannot be read: ENOENT/],
  ['a folder', async () => harness.dataDir, / cannot be read: EISDIR/],
  ['a file that is not UTF-8', () => file('latin1.json', Buffer.from('{"clinics":"\xe9"}', 'latin1')), /not UTF-8/],
  ['an empty file', () => file('empty.json', ''), /empty\.json:1:1: \/ is not valid JSON/],
])('catalog import refuses %s', async (_fault, path, message) => {
  const refused = await run('catalog', 'import', await path(), '--tenant', 'second');
  expect(refused).toEqual(refusal(1, message));
});

it('catalog import accepts a byte order mark, which editors on Windows write', async () => {
  const path = await file('bom.json', '\uFEFF{}');
  expect(await run('catalog', 'import', path, '--tenant', 'second')).toMatchObject({ code: 0 });
});

it('catalog import draws a progress bar on a terminal, apart from its output', async () => {
  const screen = Object.assign(new PassThrough(), { isTTY: true, columns: 80 }) as unknown as NodeJS.WriteStream;
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommand(['catalog', 'import', otherCatalog, '--tenant', 'third', '--json'], {
    environment,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    screen,
  });
  expect({ code, err }).toEqual({ code: 0, err: [] });
  expect(JSON.parse(out.join(''))).toMatchObject({ products: { created: 13 } });
  expect(String(screen.read())).toMatch(/ 100 % \((\d+) of \1 rows\)/);
});

it('catalog import leaves no product when it is interrupted', async () => {
  // The import writes its products before the variants, where this lock stops it.
  const lock = Prisma.sql`LOCK TABLE offer_variant IN SHARE MODE`;
  const child = startProcess(environment, 'catalog', 'import', otherCatalog, '--tenant', 'fourth');
  const interrupt = async (_holder: unknown, [ended]: readonly Promise<unknown>[]) => {
    child.kill('SIGINT');
    await ended;
  };
  const [[code]] = await inTurn(harness, lock, [() => once(child, 'exit')], interrupt);
  expect(code).toBe(1);
  const { prisma } = harness.domain.db;
  const others = () => prisma.$queryRaw<object[]>`SELECT FROM pg_stat_activity
    WHERE xact_start IS NOT NULL AND datname = current_database() AND pid <> pg_backend_pid()`;
  await until(async () => (await others()).length === 0);
  expect(await prisma.product.count({ where: { tenantId: 'fourth' } })).toBe(0);
});
