import { execFile, spawnSync } from 'node:child_process';
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { hasDebianPostgres, startDebianPostgres } from '../support/debianPostgres.js';
import { newPartner, newPatient } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { rowsOf } from '../support/migrations.js';
import { isThere, packages } from '../support/optional.js';
import { asPostgres } from '../support/part.js';

const kit = fileURLToPath(new URL('scripts/production/kit/', packageRoot));
const run = promisify(execFile);
const found = spawnSync('pgbackrest', ['version']).status === 0;
const usable = hasDebianPostgres() && isThere(found, 'a restore to a point in time', packages('pgbackrest'));

(usable ? it : it.skip)(
  "pgBackRest with the kit's configuration restores a point in time under load, without a difference from the audit",
  async () => {
    const cluster = await startDebianPostgres('-c archive_mode=on -c archive_timeout=5');
    const { dataDir, data, port, sql } = cluster;
    const file = `${dataDir}/pgbackrest.conf`;
    const config = (await readFile(`${kit}pgbackrest.conf`, 'utf8'))
      .replace('/var/lib/pgbackrest', `${dataDir}/repository`)
      .replace('/var/lib/postgresql/17/main', `${data}\npg1-port=${port}\npg1-socket-path=${dataDir}`)
      .replace('[global]', `[global]\nlock-path=${dataDir}/lock\nspool-path=${dataDir}/spool`);
    await writeFile(file, config);
    await chmod(file, 0o644);
    const env = { ...process.env, PGBACKREST_CONFIG: file, TMPDIR: dataDir };
    const asUser = async (...command: string[]): Promise<string> => {
      return (await run('setpriv', [...asPostgres, ...command], { env, cwd: dataDir })).stdout;
    };
    await sql(
      `ALTER SYSTEM SET archive_command = 'pgbackrest --config=${file} --stanza=ces archive-push %p'`,
      'SELECT pg_reload_conf()',
      "CREATE ROLE tester SUPERUSER LOGIN PASSWORD 'secret'",
      'CREATE DATABASE ces',
    );
    // As in Debian's clusters, whose configuration is in /etc, the backup lacks these files.
    for (const name of ['postgresql.conf', 'pg_hba.conf', 'pg_ident.conf']) {
      await rename(`${data}/${name}`, `${dataDir}/${name}`);
    }
    await asUser('pgbackrest', '--stanza=ces', 'stanza-create');
    const url = `postgresql://tester:secret@127.0.0.1:${port}/ces`;
    await migrateDatabase({ ownerUrl: url, url });
    const harness = await startHarness({ databaseUrl: url });
    const partner = await newPartner(harness);
    const acknowledged: number[] = [];
    const ending = new AbortController();
    const load = (async () => {
      while (!ending.signal.aborted) {
        await newPatient(harness, partner);
        acknowledged.push(Date.now());
      }
    })();
    const until = async (count: number): Promise<void> => {
      while (acknowledged.length < count) await delay(20);
    };
    await until(20);
    await asUser('pgbackrest', '--stanza=ces', 'backup', '--type=full');
    // pgBackRest restores no point in the second in which the backup ended.
    const second = () => Math.floor(Date.now() / 1_000);
    for (const ended = second(); second() === ended;) await delay(20);
    const [before, [now], after] = [
      acknowledged.length,
      await rowsOf(url, 'SELECT now()::text AS at'),
      acknowledged.length,
    ];
    await until(acknowledged.length + 50);
    // Wait until the archive has the WAL of the point in time, and of the load after it.
    const archived = async () =>
      (await rowsOf(url, 'SELECT last_archived_wal AS name FROM pg_stat_archiver'))[0]?.['name'];
    const first = await archived();
    while ((await archived()) === first) await until(acknowledged.length + 10);
    ending.abort();
    await load;
    await harness.close();
    const [pid = ''] = (await readFile(`${data}/postmaster.pid`, 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGQUIT');
    const drill = async (...time: string[]) => {
      const told = await asUser('sh', `${kit}pointInTime.sh`, ...time);
      const [, patients, differing] = /^(\d+) patients, (\d+) differ from the audit;/m.exec(told) ?? [];
      return {
        patients: Number(patients),
        differing: Number(differing),
      };
    };
    const point = await drill(String(now?.['at']));
    expect(point.differing).toBe(0);
    expect(point.patients).toBeGreaterThanOrEqual(before);
    expect(point.patients).toBeLessThanOrEqual(after + 1);
    const latest = await drill();
    expect(latest.differing).toBe(0);
    const lost = acknowledged.length - latest.patients;
    const lostMs = lost > 0 ? (acknowledged.at(-1) ?? 0) - (acknowledged.at(-lost) ?? 0) : 0;
    expect(lostMs).toBeLessThanOrEqual(60_000);
    await cluster.remove();
  },
  180_000,
);
