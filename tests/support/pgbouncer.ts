import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './mock.js';
import { isThere, packages } from './optional.js';
import { POOLER_SETTINGS } from '../../src/adapters/database/database.js';
import { asPostgres, part } from './part.js';
import { listens } from './redis.js';

/** The URL through the pooler at this port, by default that of `make test-pooler`; without a pooler, the URL itself. */
export function throughPooler(direct: string, port: string | number = process.env['TEST_POOLER_PORT'] ?? ''): string {
  return port === '' ? direct : Object.assign(new URL(direct), { port: String(port) }).href;
}

export interface Pooler {
  readonly port: number;
  close(): Promise<void>;
}

/** Whether this machine has PgBouncer; as {@link isThere}. */
export function hasPgBouncer(): boolean {
  const found = spawnSync('pgbouncer', ['--version']).status === 0;
  return isThere(found, 'tests through a pooler', packages('pgbouncer'));
}

/** Starts PgBouncer in transaction mode before all databases of a server. */
export async function startPgBouncer(serverUrl: string, connectQuery = POOLER_SETTINGS): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'ces-pooler-'));
  const [port, { hostname, port: serverPort, username, password }] = [await freePort(), new URL(serverUrl)];
  // An empty password would end the line.
  const user = `user=${username}${password && ` password=${decodeURIComponent(password)}`}`;
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort} ${user} connect_query='${connectQuery}'`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['pool_mode = transaction', 'default_pool_size = 20', 'max_client_conn = 1000', 'server_idle_timeout = 5'],
  ];
  await writeFile(file, lines.join('\n'));
  await chmod(folder, 0o755);
  const pooler = part({
    command: ['pgbouncer', file],
    privileges: asPostgres,
    isReady: () => listens(port),
    cwd: folder,
  });
  await pooler.start();
  return {
    port,
    async close() {
      await pooler.stop('SIGKILL');
      await rm(folder, { recursive: true });
    },
  };
}
