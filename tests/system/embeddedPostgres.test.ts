import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { openEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { errorCode } from '../../src/failures.js';
import { adminUrl, temporaryDataDir } from '../support/postgres.js';
import { until } from '../support/until.js';

const open: { close(): Promise<void> }[] = [];
const settings = { fsync: 'off' };

const { dataDir, remove } = await temporaryDataDir();

afterEach(async () => {
  for (const opened of open.splice(0).reverse()) await opened.close();
});

afterAll(() => remove());

async function here(role: 'server' | 'tool', options = {}): Promise<EmbeddedPostgres> {
  const postgres = await openEmbeddedPostgres({
    dataDir,
    role,
    log: () => {},
    settings,
    timeoutMs: 10_000,
    ...options,
  });
  open.push(postgres);
  return postgres;
}

/** Opens the database in a child process with its own process group, which closes it when its input ends. */
async function elsewhere(role: 'server' | 'tool', folder = dataDir) {
  const program = `
    import { openEmbeddedPostgres } from './generated/build/src/embedded/embeddedPostgres.js';
    const [, dataDir, role] = process.argv;
    const options = { dataDir, role, log() {}, settings: ${JSON.stringify(settings)} };
    const { url, started, close } = await openEmbeddedPostgres(options);
    process.stdin.on('end', close).resume();
    process.stdout.on('error', () => {}).write(JSON.stringify({ url, started }) + '\\n');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, folder, role], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line]: string[] = await once(createInterface(child.stdout), 'line');
  const { url, started }: { url: string; started: boolean } = JSON.parse(line ?? '');
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.stdin.end();
    await once(child, 'exit');
  };
  const other = { url, started, process: child, close };
  open.push(other);
  return other;
}

async function query(url: string, sql: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

async function postmaster(): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

const isGone = (url: string): Promise<boolean> =>
  query(url, 'SELECT 1').then(
    () => false,
    (error: unknown) => errorCode(error) === 'ECONNREFUSED',
  );

describe('one owner', () => {
  it('creates the cluster on the first start only, on loopback, with a password and files that other users cannot read', async () => {
    const first = await here('server');
    expect(first.started).toBe(true);
    await query(first.url, 'CREATE TABLE survivor AS SELECT 1 AS n');
    expect(await query(first.url, 'SHOW listen_addresses')).toEqual([['127.0.0.1']]);
    expect(await query(first.url, 'SHOW server_encoding')).toEqual([['UTF8']]);
    expect(await query(first.url, `SELECT lower('ÀÉÎ'), 'a' < 'B'`)).toEqual([['àéî', false]]);
    const guess = new URL(first.url);
    guess.password = 'guess';
    await expect(query(guess.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect((await stat(join(dataDir, 'postgres', 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700);
    await first.close();
    expect(await isGone(first.url)).toBe(true);
    const second = await here('server');
    expect(second.started).toBe(true);
    expect(await query(second.url, 'SELECT n FROM survivor')).toEqual([[1]]);
  });

  it('leaves no PostgreSQL running that refuses the password in DATA_DIR', async () => {
    await (await here('server')).close();
    const file = join(dataDir, 'postgres', 'password');
    const own = await readFile(file, 'utf8');
    await writeFile(file, 'another');
    await expect(here('server')).rejects.toThrow('password authentication failed');
    // PostgreSQL removes its file when it ends.
    await until(() =>
      postmaster().then(
        () => false,
        () => true,
      ),
    );
    await writeFile(file, own);
    expect(await here('server')).toMatchObject({ started: true });
  });

  it('writes no value of a failed statement to the log of PostgreSQL', async () => {
    const { url } = await here('server');
    await query(url, 'CREATE TABLE person (email text PRIMARY KEY)');
    const twice = `INSERT INTO person VALUES ('jane@example.com'), ('jane@example.com')`;
    await expect(query(url, twice)).rejects.toThrow('duplicate key');
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8');
    expect(log).toContain('ready to accept connections');
    expect(log).not.toMatch(/jane|person|duplicate/);
  });

  it('refuses data of another major version, and says how to export and restore them', async () => {
    await (await here('server')).close();
    const version = join(dataDir, 'postgres', 'data', 'PG_VERSION');
    const own = await readFile(version, 'utf8');
    await writeFile(version, '15\n');
    await expect(here('server')).rejects.toThrow(
      /has data of PostgreSQL 15, but this build has PostgreSQL \d+\. Export them .* "ces restore --from FOLDER"/,
    );
    await writeFile(version, own);
    expect(await here('server')).toMatchObject({ started: true });
  });

  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  asRoot('does not run PostgreSQL as root, even inside a folder that only root may enter', async () => {
    const { url } = await here('server');
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    expect(await query(url, 'SELECT 1')).toEqual([[1]]);
    expect(await readFile(`/proc/${await postmaster()}/status`, 'utf8')).not.toMatch(/^[UG]id:.*\t0\b/m);
  });
});

describe('a second server', () => {
  it('gives up after its timeout, and names the folder and the process that uses it', async () => {
    const first = await elsewhere('server');
    await expect(here('server', { timeoutMs: 300 })).rejects.toThrow(
      `DATA_DIR ${dataDir} is in use by server process ${first.process.pid}`,
    );
    expect(await query(first.url, 'SELECT 1')).toEqual([[1]]);
  });

  it('takes over the data when the first server closes', async () => {
    const first = await elsewhere('server');
    await query(first.url, 'CREATE TABLE handover AS SELECT 42 AS n');
    const second = here('server');
    await first.close();
    expect(await query((await second).url, 'SELECT n FROM handover')).toEqual([[42]]);
  });

  it('waits for the first server when both start on an empty folder', async () => {
    const empty = await temporaryDataDir();
    const both = [elsewhere('server', empty.dataDir), elsewhere('server', empty.dataDir)];
    const first = await Promise.race(both);
    await query(first.url, 'CREATE TABLE mine AS SELECT 7 AS n');
    await first.close();
    const second = (await Promise.all(both)).find((server) => server !== first);
    expect(await query(second?.url ?? '', 'SELECT n FROM mine')).toEqual([[7]]);
    await second?.close();
    await empty.remove();
  });
});

describe('when a process ends abruptly,', () => {
  it('the next server adopts the PostgreSQL that a killed server left running, with all committed rows', async () => {
    const first = await elsewhere('server');
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');
    const second = await here('server');
    expect(second).toMatchObject({ started: false, url: first.url });
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([[1]]);
    await second.close();
    expect(await isGone(second.url)).toBe(true);
  });

  it('the next server restarts a killed PostgreSQL, with all committed rows', async () => {
    const first = await here('server');
    await query(first.url, 'CREATE TABLE durable AS SELECT 1 AS n');
    process.kill(await postmaster(), 'SIGKILL');
    await until(() => isGone(first.url));
    await first.close();
    const second = await here('server');
    expect(second.started).toBe(true);
    expect(await query(second.url, 'SELECT n FROM durable')).toEqual([[1]]);
  });

  it('Ctrl-C in a terminal ends the server but does not reach PostgreSQL', async () => {
    const first = await elsewhere('server');
    process.kill(-(first.process.pid ?? 0), 'SIGINT');
    await once(first.process, 'exit');
    expect(await query(first.url, 'SELECT 1')).toEqual([[1]]);
    await (await here('server')).close();
    expect(await isGone(first.url)).toBe(true);
  });

  const otherPostgres = async (): Promise<unknown> => {
    const [[file] = []] = await query(adminUrl(), `SELECT pg_read_file('postmaster.pid')`);
    return String(file).split('\n')[0];
  };
  it.each([
    ['program', async () => process.pid],
    ['PostgreSQL', otherPostgres],
  ])('the next server starts although the recorded process id belongs to another %s', async (_what, pid) => {
    const first = await elsewhere('server');
    const lock = join(dataDir, 'postgres', 'data', 'postmaster.pid');
    const content = await readFile(lock, 'utf8');
    await first.close();
    await writeFile(lock, content.replace(/^\d+/, String(await pid())));
    expect(await here('server')).toMatchObject({ started: true });
  });
});

describe('a tool', () => {
  it('joins a running server and leaves it running', async () => {
    const server = await elsewhere('server');
    const tool = await here('tool');
    expect(tool).toMatchObject({ url: server.url, started: false });
    await tool.close();
    expect(await query(server.url, 'SELECT 1')).toEqual([[1]]);
  });

  it('starts PostgreSQL when no server runs, and stops it after the sessions of other processes have ended', async () => {
    const tool = await here('tool');
    expect(tool.started).toBe(true);
    const slow = query(tool.url, `SELECT 'done' FROM pg_sleep(0.5)`);
    const sleepers = `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;
    await until(async () => (await query(tool.url, sleepers)).length > 0);
    await tool.close();
    expect(await slow).toEqual([['done']]);
    expect(await isGone(tool.url)).toBe(true);
  });

  it.each(['server', 'tool'] as const)('that started PostgreSQL, and will stop it, makes a %s wait', async (role) => {
    const first = await elsewhere('tool');
    const messages: string[] = [];
    const second = here(role, { log: (message: string) => messages.push(message) });
    await until(async () => messages.length > 0);
    expect(messages).toEqual([`Waiting: DATA_DIR ${dataDir} is in use by tool process ${first.process.pid}`]);
    await first.close();
    expect(await second).toMatchObject({ started: true });
  });
});
