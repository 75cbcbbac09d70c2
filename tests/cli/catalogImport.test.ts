import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { runCommand } from '../../src/cli/program.js';
import { packageRoot } from '../../src/packageRoot.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runJson, runProgram, startProcess } from './runProgram.js';

let database: TestDatabase;
let db: Database;
let folder = '';
let environment: Record<string, string> = {};
const demoFile = (name: string): string => fileURLToPath(new URL(`prisma/demo/${name}.json`, packageRoot));
const demoCatalog = demoFile('demo');
const otherCatalog = demoFile('harbor');

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url);
  environment = { DATABASE_URL: database.url };
  folder = await mkdtemp(join(tmpdir(), 'ces-catalog-'));
  for (const name of ['First', 'Second', 'Third', 'Fourth']) await runJson(environment, 'tenant', 'create', name);
});

afterAll(async () => {
  await db.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

const productsOf = (tenantId: string) => db.prisma.product.count({ where: { tenantId } });

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

it('catalog import reports created rows, and only unchanged rows when it runs again', async () => {
  const args = ['catalog', 'import', demoCatalog, '--tenant', 'First'];
  const none = { created: 0, updated: 0, deleted: 0 };
  expect(await runJson(environment, ...args)).toEqual({
    clinics: { ...none, created: 7, unchanged: 0 },
    pharmacies: { ...none, created: 3, unchanged: 0 },
    categories: { ...none, created: 6, unchanged: 0 },
    subcategories: { ...none, created: 11, unchanged: 0 },
    products: { ...none, created: 14, unchanged: 0 },
  });
  const again = await runProgram(environment, ...args);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toMatch(/^ +CREATED +UPDATED +DELETED +UNCHANGED\nclinics +0 +0 +0 +7\n/);
});

it('catalog import --dry-run prints each change with its position in the file, and writes no row', async () => {
  const path = await file('change.json', '{ "products": [\n  { "sku": "BTX-100", "isDeleted": true }\n] }');
  const args = ['catalog', 'import', path, '--tenant', 'first', '--dry-run'];
  const { code, stdout, stderr } = await runProgram(environment, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(`${path}:2:3: /products/0 would be deleted\nDry run: nothing was imported.\n`);
  expect(stdout).toMatch(/\nproducts +0 +0 +1 +0\n$/);
  expect(await runJson(environment, ...args)).toMatchObject({
    products: { deleted: 1 },
    changes: [{ line: 2, column: 3, pointer: '/products/0', state: 'deleted' }],
  });
  expect(await db.prisma.product.count({ where: { tenantId: 'first', isDeleted: true } })).toBe(0);
});

it('catalog export prints a file whose import makes no change', async () => {
  const { code, stdout, stderr } = await runProgram(environment, 'catalog', 'export', '--tenant', 'first');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const path = await file('export.json', stdout);
  const again = await runProgram(environment, 'catalog', 'import', path, '--tenant', 'first', '--dry-run');
  expect(again.stdout).toMatch(/^Nothing would change: nothing was imported\.\n/);
  expect(again.stdout).toMatch(/\nproducts +0 +0 +0 +14\n$/);
});

it('catalog schema prints a JSON Schema 2020-12 that accepts valid catalogs only', async () => {
  const ajv = new Ajv2020({ logger: false });
  addFormats.default(ajv);
  const valid = ajv.compile((await runJson(environment, 'catalog', 'schema')) as object);
  expect(valid(JSON.parse(await readFile(demoCatalog, 'utf8')))).toBe(true);
  expect(valid(await runJson(environment, 'catalog', 'export', '--tenant', 'first'))).toBe(true);
  expect(valid({ products: [{ sku: 'X', isDeleted: true }] })).toBe(true);
  expect(valid({ products: [{ sku: 'X' }] })).toBe(false);
  expect(valid({ shops: [] })).toBe(false);
});

it('catalog import prints every fault as file:line:column, writes no row and exits with 1', async () => {
  const path = await file(
    'faulty.json',
    '{\n  "clinics": [{ "legalName": "A" }],\n  "products": [\n    { "sku": "X", "price": 1 }\n  ]\n}\n',
  );
  const args = ['catalog', 'import', path, '--tenant', 'second'];
  const { code, stdout, stderr } = await runProgram(environment, ...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toContain(`${path}:2:15: /clinics/0 email is missing`);
  expect(lines).toContain(`${path}:4:19: /products/0/price is not a member that the file can have here`);
  expect(lines.at(-1)).toBe(`${lines.length - 1} faults: nothing was imported.`);
  const { error } = JSON.parse((await runProgram(environment, ...args, '--json')).stderr) as { error: object };
  expect(error).toEqual({
    message: stderr.trimEnd(),
    faults: expect.arrayContaining([{ line: 2, column: 15, pointer: '/clinics/0', message: 'email is missing' }]),
  });
  expect(await db.prisma.clinic.count({ where: { tenantId: 'second' } })).toBe(0);
});

it.each([
  ['a file that does not exist', async () => join(folder, 'none.json'), /none\.json does not exist\.\n$/],
  ['a folder', async () => folder, /ces-catalog-\w+ is a folder, not a file\.\n$/],
  ['a file that is not UTF-8', () => file('latin1.json', Buffer.from('{"clinics":"\xe9"}', 'latin1')), /not UTF-8/],
  ['an empty file', () => file('empty.json', ''), /empty\.json:1:1: \/ is not valid JSON/],
])('catalog import refuses %s', async (_fault, path, message) => {
  const { code, stdout, stderr } = await runProgram(
    environment,
    'catalog',
    'import',
    await path(),
    '--tenant',
    'second',
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
});

it('catalog import accepts a byte order mark, which editors on Windows write', async () => {
  const path = await file('bom.json', '\uFEFF{}');
  expect(await runProgram(environment, 'catalog', 'import', path, '--tenant', 'second')).toMatchObject({ code: 0 });
});

it('catalog import draws its progress bar on a terminal only', async () => {
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
  expect(String(screen.read())).toMatch(/importing .* 100 % \((\d+) of \1 rows\)/);
});

it('catalog import writes no row when it is interrupted', async () => {
  const blocker = new Client({ connectionString: database.url });
  await blocker.connect();
  // The import writes its products before the variants, where this lock stops it.
  await blocker.query('BEGIN; LOCK TABLE offer_variant IN SHARE MODE');
  const child = startProcess(environment, 'catalog', 'import', otherCatalog, '--tenant', 'fourth');
  const waiting = `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database())`;
  while ((await blocker.query<{ n: number }>(waiting)).rows[0]?.n === 0) await delay(20);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  expect(await ended).toBe(1);
  await blocker.query('ROLLBACK');
  const others = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`;
  while ((await blocker.query<{ n: number }>(others)).rows[0]?.n !== 0) await delay(20);
  await blocker.end();
  expect(await productsOf('fourth')).toBe(0);
});
