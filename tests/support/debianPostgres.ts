import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './mock.js';
import { pg } from './dumps.js';
import { isThere, packages } from './optional.js';
import { asPostgres } from './part.js';
import { temporaryDataDir } from './postgres.js';

const run = promisify(execFile);
const home = '/usr/lib/postgresql';

/** The newest version that is installed; undefined if there is none. */
const [version] = existsSync(home) ? readdirSync(home).sort((a, b) => Number(b) - Number(a)) : [];

/** The folder of its programs. */
export const debianPrograms = join(home, version ?? '', 'bin');

/** Whether this machine has Debian's PostgreSQL; as {@link isThere}. */
export function hasDebianPostgres(): boolean {
  return isThere(version !== undefined, "tests on Debian's PostgreSQL", packages('postgresql'));
}

/** A server with the package's defaults: the superuser connects by the socket, others by password. */
export async function startDebianPostgres(settings = '') {
  const { dataDir, remove } = await temporaryDataDir();
  const data = join(dataDir, 'postgres/data');
  const start = (program: string, ...args: string[]) =>
    run('setpriv', [...asPostgres, join(debianPrograms, program), ...args], { cwd: dataDir });
  if (asPostgres.length > 0) await run('chown', ['postgres:postgres', dataDir]);
  const port = await freePort();
  await start('initdb', '-D', data, '-U', 'postgres', '--auth-local=trust', '--auth-host=scram-sha-256', '-E', 'UTF8');
  const options = `-p ${port} -k ${dataDir} -c listen_addresses=127.0.0.1 -c fsync=off ${settings}`;
  await start('pg_ctl', '-D', data, '-o', options, '-l', join(dataDir, 'log'), '-w', 'start');
  const superuser = { PGHOST: dataDir, PGPORT: String(port), PGUSER: 'postgres' };
  const sql = (...statements: string[]) =>
    pg('psql', '-h', dataDir, '-p', String(port), '-U', 'postgres', ...statements.flatMap((each) => ['-c', each]));
  return { port, data, dataDir, superuser, sql, remove };
}
