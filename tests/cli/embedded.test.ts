import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { openDatabase } from '../../src/adapters/database/database.js';
import { runProcess } from './runProgram.js';

let dataDir = '';

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ces-cli-'));
});

afterAll(() => rm(dataDir, { recursive: true }));

const run = (...args: string[]) => runProcess({ DATA_DIR: dataDir }, ...args);

it('a command uses the embedded database of DATA_DIR without a server and beside one', async () => {
  const created = await run('tenant', 'create', 'Lakeside', '--json');
  expect(created).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
  expect(JSON.parse(created.stdout)).toMatchObject({ id: 'lakeside' });
  expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(false);

  // The purge needs the connection of the database's owner, which the service does not have.
  expect(await run('audit', 'purge')).toEqual({ code: 0, stdout: '0 rows were removed.\n', stderr: '' });

  const server = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => {} });
  const db = openDatabase(server.url);
  try {
    const client = await run('client', 'create', '--tenant', 'Lakeside', '--preset', 'provider', '--json');
    expect(client).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
    const { clientId, permissions } = JSON.parse(client.stdout) as { clientId: string; permissions: string[] };
    expect(permissions.sort()).toEqual(['read:encounter', 'review:encounter']);
    expect(await db.prisma.apiClient.findUnique({ where: { clientId } })).toMatchObject({
      tenantId: 'lakeside',
      isActive: true,
    });
    expect(await db.prisma.tenant.count()).toBeGreaterThan(0);
  } finally {
    await db.close();
    await server.close();
  }
});

it('the process exits with 1 and prints one line for a refusal, and exits with 2 for wrong usage', async () => {
  const [refused, misused] = await Promise.all([
    runProcess({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }, 'tenant', 'list'),
    runProcess({}, 'tenant', 'create'),
  ]);
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: 'DATABASE_URL does not answer: connect ECONNREFUSED 127.0.0.1:1\n',
  });
  expect(misused).toEqual({ code: 2, stdout: '', stderr: "error: missing required argument 'name'\n" });
});
