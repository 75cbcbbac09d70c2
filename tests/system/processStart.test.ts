import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { portOf } from '../support/fileHost.js';
import { openTestDatabase } from '../support/postgres.js';
import { temporaryFolder } from '../support/folder.js';
import { rowsOf } from '../support/migrations.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';

const folder = temporaryFolder();
const database = await openTestDatabase();
afterEach(killServers);

/** Starts the service, expects it to refuse, and returns its message. */
async function refusalOf(environment: Record<string, string>, ...args: string[]): Promise<string> {
  const server = startServer({ DATA_DIR: folder(), DATABASE_URL: database.serviceUrl, ...environment }, ...args);
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(server.logged().filter(({ msg }) => msg === 'started')).toEqual([]);
  expect(server.stderr()).toMatch(/^The service did not start\. [^\n]+\n$/);
  // An operator needs the message without a stack, and secrets must not leak.
  expect(server.stderr()).not.toMatch(/^\s+at /m);
  // The lookbehind spares a port that ends in 4711.
  expect(server.stderr()).not.toMatch(/(?<!\d)4711/);
  return server.stderr();
}

describe('the start', () => {
  it('fails and names every wrong variable before it touches DATA_DIR', async () => {
    const wrong = {
      ...{ PORT: '65536', BASE_URL: 'nowhere', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://root:secret-4711@db/x' },
      ...{ DATABASE_POOL_SIZE: '0', ACCESS_TOKEN_TTL: '7h', REFRESH_TOKEN_TTL: '-1', S3_ENDPOINT: 'nowhere' },
      ...{ DOCUMENT_FETCH_ALLOWED_HOSTS: '*', VALIDATE_RESPONSES: '1', DRAIN_TIMEOUT: '0' },
    };
    const s3 = { OBJECT_STORE: 's3', S3_SECRET_KEY: 'secret-4711' };
    const said = await refusalOf({ DATA_DIR: folder('untouched'), ...wrong, ...s3 });
    for (const name of [...Object.keys(wrong), 'S3_BUCKET', 'S3_ACCESS_KEY']) expect(said).toContain(`${name} `);
    expect(await readdir(folder())).not.toContain('untouched');
  });

  it('fails when DATABASE_URL refuses connections', async () => {
    const said = await refusalOf({ DATABASE_URL: 'postgresql://ces:secret-4711@127.0.0.1:1/ces' });
    expect(said).toMatch(/cannot be used now: .*ECONNREFUSED.* DATABASE_URL/);
  });

  it('fails on a schema that is behind, names the command that migrates, and leaves the schema unchanged', async () => {
    const empty = await createEmptyDatabase();
    try {
      const said = await refusalOf({ DATABASE_URL: empty.url });
      expect(said).toMatch(/DATABASE_URL lacks the migrations \d{14}_\w+.*scripts\/ces migrate.*--migrate/);
      expect(await rowsOf(empty.url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
    } finally {
      await empty.drop();
    }
  });

  it('fails on a PORT that is in use before it touches DATA_DIR', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = portOf(other.address());
    const said = await refusalOf({ PORT: String(port), DATA_DIR: folder('untouched') }, '--migrate');
    expect(said).toMatch(new RegExp(`PORT: .*EADDRINUSE.*${port}\\. Stop .* or choose another PORT`));
    expect(await readdir(folder())).not.toContain('untouched');
    const metrics = await refusalOf({ METRICS_PORT: String(port), DATABASE_URL: database.serviceUrl });
    expect(metrics).toMatch(/METRICS_PORT: .*EADDRINUSE.* Set a free METRICS_PORT/);
    other.close();
  });

  it('fails when the file of SIGNING_KEYS_FILE is missing, and does not create it', async () => {
    const said = await refusalOf({ SIGNING_KEYS_FILE: folder('missing.json') });
    expect(said).toMatch(/SIGNING_KEYS_FILE .*missing\.json/);
    expect(await readdir(folder())).not.toContain('missing.json');
  });

  it('fails when DATA_DIR is a file', async () => {
    const file = folder('a-file');
    await writeFile(file, '');
    expect(await refusalOf({ DATA_DIR: file })).toMatch(/DATA_DIR .*a-file cannot be used/);
  });

  it('exits with 2 for an unknown option', async () => {
    const server = startServer({ DATA_DIR: folder() }, '--migrat');
    expect(await server.ended).toEqual({ code: 2, signal: null });
    expect(server.stderr()).toContain("unknown option '--migrat'");
  });
});

it("a server reports to systemd's watchdog repeatedly", async () => {
  await writeFile(folder('systemd-notify'), '#!/bin/sh\necho "$@" >>"$REPORTS"\n', { mode: 0o755 });
  const ofSystemd = { WATCHDOG_USEC: '600000', REPORTS: folder('reports'), PATH: `${folder()}:${process.env['PATH']}` };
  await startServer({ DATA_DIR: folder(), DATABASE_URL: database.serviceUrl, ...ofSystemd }).started;
  const reports = () => readFile(folder('reports'), 'utf8').catch(() => '');
  while (!(await reports()).startsWith('WATCHDOG=1\nWATCHDOG=1\n')) await delay(20);
});
