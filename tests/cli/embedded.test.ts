import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { openDatabase } from '../../src/adapters/database/database.js';
import { refusal } from './operator.js';
import { runProcess } from './runProgram.js';

let dataDir = '';

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ces-cli-'));
});

afterAll(() => rm(dataDir, { recursive: true }));

const run = (...args: string[]) => runProcess({ DATA_DIR: dataDir }, ...args);

it('a command opens the embedded database of DATA_DIR, whether or not a server is running on it', async () => {
  const tenant = await run('tenant', 'create', 'Lakeside', '--json');
  expect(tenant).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
  expect(JSON.parse(tenant.stdout)).toMatchObject({ id: 'lakeside' });
  expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(false);

  // The purge needs the connection of the database's owner, which the service does not have.
  expect(await run('audit', 'purge')).toEqual({ code: 0, stdout: '0 rows were removed.\n', stderr: '' });

  const server = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => {} });
  const db = openDatabase(server.url);
  try {
    const created = await run('client', 'create', '--tenant', 'Lakeside', '--preset', 'provider', '--json');
    expect(created).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
    const { clientId, permissions } = JSON.parse(created.stdout);
    expect(permissions.sort()).toEqual(['admin:webhook', 'read:encounter', 'read:event', 'review:encounter']);
    const client = await db.prisma.apiClient.findFirst({ where: { clientId } });
    expect(client).toMatchObject({ tenantId: 'lakeside', isActive: true });
  } finally {
    await db.close();
    await server.close();
  }
});

it('a command exits with 1 and prints one line when it refuses, and exits with 2 for wrong usage', async () => {
  const refused = runProcess({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }, 'tenant', 'list');
  expect(await refused).toEqual(
    refusal(
      1,
      'DATABASE_URL does not answer: connect ECONNREFUSED 127.0.0.1:1. Start PostgreSQL, or correct the address.\n',
    ),
  );
  const misused = runProcess({}, 'tenant', 'create');
  expect(await misused).toEqual(refusal(2, "error: missing required argument 'name'\n"));
});
