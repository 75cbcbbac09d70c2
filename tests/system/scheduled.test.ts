import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { hasDebianPostgres, startDebianPostgres } from '../support/debianPostgres.js';
import { newEncounter, newPartner } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { startHarness } from '../support/harness.js';
import { rowsOf } from '../support/migrations.js';

const folder = temporaryFolder();
const cwd = fileURLToPath(packageRoot);

(hasDebianPostgres() ? it : it.skip)(
  'the scheduled tasks make and verify a backup, purge the audit, and restore the backup into the database for drills only',
  async () => {
    const cluster = await startDebianPostgres();
    const urlOf = (name: string): string => `postgresql://ces_owner:secret@127.0.0.1:${cluster.port}/${name}`;
    await cluster.sql(
      "CREATE ROLE ces_owner LOGIN PASSWORD 'secret'",
      ...['ces', 'ces_drill'].map((name) => `CREATE DATABASE ${name} OWNER ces_owner`),
    );
    await migrateDatabase({ ownerUrl: urlOf('ces'), url: urlOf('ces') });
    const harness = await startHarness({ databaseUrl: urlOf('ces'), environment: { DATA_DIR: folder('data') } });
    await newEncounter(harness, await newPartner(harness));
    await harness.close();
    const task = (name: string, change = {}) =>
      promisify(execFile)('sh', ['scripts/production/kit/scheduled.sh', name], {
        cwd,
        env: {
          ...{
            PATH: `${cwd}scripts:${process.env['PATH']}`,
            USER: 'timer',
            DATABASE_URL: urlOf('ces'),
            DATA_DIR: folder('data'),
          },
          ...{ BACKUP_TO: folder('backup'), BACKUP_PASSPHRASE: 'kept apart from the backup' },
          ...{ DRILL_OWNER_URL: urlOf('ces_drill'), ...change },
        },
      });
    await task('daily');
    const commands = `SELECT operation_id AS name FROM audit_event WHERE operator IS NOT NULL AND outcome = 'success' ORDER BY position`;
    const names = (await rowsOf(urlOf('ces'), commands)).map(({ name }) => name);
    expect(names).toEqual(['backup create', 'backup verify', 'audit purge']);
    await task('drill');
    // A drill also replaces the data of the previous drill.
    await task('drill');
    const encounters = (name: string) => rowsOf(urlOf(name), 'SELECT id, status FROM encounter');
    expect(await encounters('ces_drill')).toEqual(await encounters('ces'));
    await expect(task('drill', { DRILL_OWNER_URL: urlOf('ces') })).rejects.toThrow('a drill empties its database');
    await expect(task('daily', { BACKUP_PASSPHRASE: 'weak' })).rejects.toThrow('BACKUP_PASSPHRASE can be guessed');
    expect(await encounters('ces')).toHaveLength(1);
    await cluster.remove();
  },
  120_000,
);
