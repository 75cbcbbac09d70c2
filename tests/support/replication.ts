import { execFile } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { debianPrograms } from './debianPostgres.js';
import { rowsOf } from './migrations.js';
import { freePort } from './mock.js';
import { asPostgres, part, type Part } from './part.js';
import { temporaryDataDir } from './postgres.js';

const run = promisify(execFile);

/** A server of PostgreSQL, primary or standby. */
export interface Node extends Part {
  readonly port: number;
  /** The superuser's address of the database `ces`. */
  readonly url: string;
}

/** Two servers of Debian's PostgreSQL; the standby is synchronous. */
export interface Replication {
  primary(): Node;
  standby(): Node;
  /** Makes the standby the primary, and the former primary, which must be stopped, the standby. */
  promote(): Promise<void>;
  /** Copies the primary to the stopped standby, starts it, and waits for the synchronous connection. */
  rebuildStandby(): Promise<void>;
  /** Resolves when the standby confirms changes. */
  synchronous(): Promise<void>;
  remove(): Promise<void>;
}

/** Starts a primary with the empty database `ces`, and its standby. @param parent the folder of both */
export async function startReplication(parent?: string): Promise<Replication> {
  const { dataDir, remove: removeFolder } = await temporaryDataDir(parent);
  if (asPostgres.length > 0) await run('chown', ['postgres:postgres', dataDir]);
  const exec = (program: string, ...args: readonly string[]) =>
    run('setpriv', [...asPostgres, join(debianPrograms, program), ...args], { cwd: dataDir });
  const folderOf = (name: string): string => join(dataDir, name);
  const node = async (name: string): Promise<Node & { readonly name: string }> => {
    const port = await freePort();
    const url = `postgresql://postgres@127.0.0.1:${port}/ces`;
    const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: dataDir, fsync: 'off' };
    const options = Object.entries({ ...settings, max_connections: 200, cluster_name: name });
    const command = [join(debianPrograms, 'postgres'), '-D', folderOf(name)];
    const isReady = () =>
      rowsOf(url.replace(/ces$/, 'postgres'), 'SELECT 1').then(
        () => true,
        () => false,
      );
    const args = options.flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    return {
      name,
      port,
      url,
      ...part({ command: [...command, ...args], isReady, cwd: dataDir, privileges: asPostgres }),
    };
  };
  let [primary, standby] = await Promise.all([node('one'), node('two')]);
  const synchronous = async (): Promise<void> => {
    const isSynchronous = `SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')`;
    for (; (await rowsOf(primary.url, isSynchronous)).length === 0; await delay(20));
  };
  const rebuildStandby = async (): Promise<void> => {
    await rm(folderOf(standby.name), { recursive: true, force: true });
    const copy = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres', '-D', folderOf(standby.name)];
    await exec('pg_basebackup', ...copy, '-R', '--checkpoint=fast');
    await standby.start();
    await setSynchronous(primary.url, '*');
    await synchronous();
  };
  await exec('initdb', '-D', folderOf('one'), '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--no-sync');
  await appendFile(
    join(folderOf('one'), 'postgresql.conf'),
    'log_parameter_max_length = 0\nlog_error_verbosity = terse\n',
  );
  await primary.start();
  await rowsOf(primary.url.replace(/ces$/, 'postgres'), 'CREATE DATABASE ces');
  await rebuildStandby();
  return {
    primary: () => primary,
    standby: () => standby,
    async promote() {
      await setSynchronous(standby.url, '', 'SELECT pg_promote()');
      [primary, standby] = [standby, primary];
    },
    rebuildStandby,
    synchronous,
    async remove() {
      await Promise.all([primary.stop('SIGQUIT'), standby.stop('SIGQUIT')]);
      await removeFolder();
    },
  };
}

/** Runs a statement, then sets which standbys must have a change before it is acknowledged. */
async function setSynchronous(url: string, names: '*' | '', first = 'SELECT'): Promise<void> {
  await rowsOf(url, first);
  await rowsOf(url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await rowsOf(url, 'SELECT pg_reload_conf()');
}
