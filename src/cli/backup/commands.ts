import type { Command } from '@commander-js/extra-typings';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { rowsOf } from '../../adapters/database/withClient.js';
import { unmarkRestore } from '../../adapters/database/restoreMark.js';
import { readConfig } from '../../config.js';
import type { DomainContext } from '../../context.js';
import { skipNumbers } from '../../domain/sweeps/skipNumbers.js';
import { isErased } from '../../domain/patients/identity.js';
import { inTransaction } from '../../domain/transactions/transaction.js';
import { causeOf } from '../../failures.js';
import { migrateDatabase } from '../../runtime/serviceDatabase.js';
import type { ServiceDatabase } from '../../runtime/configuredDatabase.js';
import type { CliIo } from '../cliIo.js';
import { addCommand, addGroup, PROGRAM } from '../command.js';
import { readErasures, type Erasure } from '../erasureJournal.js';
import { openStore, recordedOn, withAnySchema } from '../operator.js';
import { moment, print } from '../output.js';
import { erase } from '../patient.js';
import { backUp } from './backUp.js';
import { openBackupStore, type BackupStore } from './backupStore.js';
import { keepOf } from './keep.js';
import { openKeys, passphrase, sealedKeys } from './keys.js';
import { assertComplete, readManifest, readManifestOf, verifyFiles, type Manifest } from './manifest.js';
import { pgProgram } from './programs.js';
import { restoreFiles } from './restore.js';

const FOLDER = '/secure/backup';
/** The reason of repeated erasures in the audit. */
const AGAIN = 'restored-backup';
const FROM = ['--from <folder>', 'the folder of the backup'] as const;
const AT = ['--at <time>', 'the last kept backup at or before this time (default: the latest)', moment] as const;
const ERASURES = [
  '--erasures <file>',
  'the journal of erasures, whose patients are erased again (default: ERASURE_JOURNAL, if it exists)',
] as const;

/** Adds the commands `backup` and `restore`. */
export function addBackupCommands(program: Command, terminal: CliIo): void {
  const backup = addGroup(program, 'backup', 'copies of the database, the documents and the keys');
  const creating =
    'copy database and documents to a folder, also while servers run. A new backup replaces the one in the folder, unless ' +
    '--keep keeps that, and copies only documents that the folder lacks';
  addCommand(backup, 'create', creating, [`--to ${FOLDER} --with-keys --keep 7d,4w,6m`])
    .requiredOption('--to <folder>', 'only its owner can read it; created if missing')
    .option('--with-keys', 'also the signing keys, encrypted with BACKUP_PASSPHRASE')
    .option(
      '--keep <numbers>',
      'also keep the last backup of this many days, weeks and months (UTC), such as 7d,4w,6m',
      keepOf,
    )
    .action(async ({ to, withKeys, keep, json }) => {
      const keys = withKeys ? await sealedKeys(terminal, passphrase(terminal)) : null;
      const store = await openStore(terminal);
      const target = await openBackupStore(terminal, to, true);
      const pgDump = (server: number) => pgProgram('pg_dump', server, terminal.environment);
      const { manifest, copied, unreadable, lost } = await withAnySchema(terminal, ({ ownerUrl: url }) =>
        recordedOn(terminal, url, () => backUp(target, { url, store, pgDump, keys, keep })),
      );
      const { takenAt, objects } = manifest;
      const told = `The backup of ${takenAt} is in ${to}. Documents: ${objects.length}, of which ${copied} were copied.`;
      print(terminal, json, { ...summary(manifest), copied }, told);
      if (unreadable.length > 0)
        terminal.err(
          `Warning: ${to} keeps ${unreadable.join(', ')}, damaged or of another build, and all files that such a manifest may name. Replace it from another copy of the folder, or remove it if you do not need that backup.\n`,
        );
      assertComplete('backup', lost);
    });

  const verifying = 'check that no file of a backup is missing or damaged, and that its dump can be read';
  addCommand(backup, 'verify', verifying, [`--from ${FOLDER}`])
    .requiredOption(...FROM)
    .option(...AT)
    .action(async ({ from, at, json }) => {
      const backup = await openBackupStore(terminal, from);
      const manifest = await verified(terminal, backup, at);
      await recordVerification(terminal);
      const told = `The backup of ${manifest.takenAt} is complete. Documents: ${manifest.objects.length}, missing when it was taken: ${manifest.missing.length}.`;
      print(terminal, json, summary(manifest), told);
    });

  addCompletion(backup, terminal);

  const restoring = 'restore a backup into an empty database and the object store; stop the servers first';
  const examples = [`--from ${FOLDER}`, `--from ${FOLDER} --with-keys --erasures /secure/erasures.ndjson`];
  addCommand(program, 'restore', restoring, examples)
    .requiredOption(...FROM)
    .option(...AT)
    .option('--with-keys', 'also the keys, decrypted with BACKUP_PASSPHRASE')
    .option(...ERASURES)
    .action(async ({ from, at, withKeys, erasures: journal, json }) => {
      const backup = await openBackupStore(terminal, from);
      const manifest = await verified(terminal, backup, at);
      const listed = await listedErasures(terminal, journal);
      if (withKeys) await restoreKeys(terminal, backup, manifest);
      const store = await openStore(terminal);
      const pgRestore = (server: number) =>
        pgProgram('pg_restore', Math.max(server, manifest.postgres.program), terminal.environment);
      const { stored, present } = await withAnySchema(terminal, async (database, log) => {
        const { ownerUrl: url } = database;
        const restored = await restoreFiles(backup, manifest, { url, store, pgRestore });
        const takenAt = new Date(manifest.takenAt);
        return { ...restored, present: await afterRows(terminal, database, log, takenAt, listed) };
      });
      const failed = await eraseAgain(terminal, present);
      await withAnySchema(terminal, ({ ownerUrl }) => unmarkRestore(ownerUrl));
      const erased = present.length - failed.length;
      const told = `The backup of ${manifest.takenAt} is restored. Documents stored: ${stored}. Patients erased: ${erased}.`;
      print(
        terminal,
        json,
        { ...summary(manifest), stored, erased, notErased: failed.map(({ patientId }) => patientId) },
        told,
      );
      assertErased(failed);
    });
}

/** Audits that a backup was verified, which an alert watches; only with DATABASE_URL. Only warns if it fails. */
async function recordVerification(terminal: CliIo): Promise<void> {
  if (readConfig(terminal.environment).databaseUrl === null) return;
  await withAnySchema(terminal, ({ url }) => recordedOn(terminal, url, async () => undefined)).catch((error: unknown) =>
    terminal.err(
      `The audit of this verification failed: ${causeOf(error instanceof Error ? (error.cause ?? error) : error)}. Correct that (see "${PROGRAM} doctor"), then verify again.\n`,
    ),
  );
}

/** Adds `backup complete`, for a database that another program restored. */
function addCompletion(backup: Command, terminal: CliIo): void {
  const completing =
    'complete a restore to a point in time by another program, such as pgBackRest, before servers start: skip the numbers ' +
    'that may have been assigned since, and erase patients again';
  addCommand(backup, 'complete', completing, ['--at 2026-11-28T16:00:00Z --erasures /secure/erasures.ndjson'])
    .requiredOption('--at <time>', 'the point in time', moment)
    .option(...ERASURES)
    .action(async ({ at, erasures: journal, json }) => {
      const listed = await listedErasures(terminal, journal);
      const present = await withAnySchema(terminal, async (database, log) => {
        await assertPast(database, at);
        return afterRows(terminal, database, log, at, listed);
      });
      const failed = await eraseAgain(terminal, present);
      const erased = present.length - failed.length;
      const state = failed.length > 0 ? 'Erasures must be repeated' : 'The restore is complete';
      print(terminal, json, { erased }, `${state}. Patients erased: ${erased}.`);
      assertErased(failed);
    });
}

/** @throws Error for a point in time that no restore can have: a future one, or one before the first migration */
async function assertPast({ ownerUrl }: ServiceDatabase, at: Date): Promise<void> {
  const since = 'SELECT min(finished_at) AS created, now() FROM _prisma_migrations';
  const [database] = await rowsOf<{ created: Date | null; now: Date }>(ownerUrl, '_prisma_migrations', since);
  const { created, now } = database ?? { created: null, now: new Date() };
  if (at <= now && at >= (created ?? at)) return;
  const from = created ? `from ${created.toISOString()}, the first migration of this database,` : 'a time up';
  throw new Error(
    `--at must be ${from} to the present. Give the point in time of the restore, or correct the DATABASE_… variables.`,
  );
}

/** Migrates, skips the numbers that may have been assigned since the backup, and finds the erasures to repeat. */
async function afterRows(
  terminal: CliIo,
  database: ServiceDatabase,
  log: (text: string) => void,
  takenAt: Date,
  listed: readonly Erasure[],
): Promise<Erasure[]> {
  await migrateDatabase(database, log);
  return recordedOn(terminal, database.ownerUrl, async (context) => {
    await inTransaction(context, (transaction) => skipNumbers(transaction, takenAt));
    return notErased(context, listed);
  });
}

/** @throws Error with a command for each erasure that failed */
function assertErased(failed: Awaited<ReturnType<typeof eraseAgain>>): void {
  if (failed.length === 0) return;
  const lines = failed.flatMap(({ tenantId, patientId, why }) => [
    why,
    `  $ ${PROGRAM} patient erase ${patientId} --tenant ${tenantId} --yes --before-retention --reason ${AGAIN}`,
  ]);
  const advice = 'Correct each reason, if need be once servers run, then run the command below it.';
  throw new Error([`These erasures must be repeated. ${advice}`, ...lines].join('\n'));
}

const summary = ({ takenAt, version, postgres, rows, objects, missing }: Manifest) => ({
  ...{ takenAt, version, postgres, rows, objects: objects.length, missing },
});

/** Reads a manifest and verifies its files. @throws Error for a missing or damaged file, or a missing pg_restore */
async function verified({ environment }: CliIo, backup: BackupStore, at: Date | undefined): Promise<Manifest> {
  const manifest = at ? await readManifestOf(backup, at) : await readManifest(backup);
  await verifyFiles(backup, manifest);
  const program = await pgProgram('pg_restore', manifest.postgres.program, environment);
  await program.feed(backup.read(manifest.dump.file), null, '--list');
  return manifest;
}

async function restoreKeys(terminal: CliIo, backup: BackupStore, { keys }: Manifest): Promise<void> {
  if (keys === null)
    throw new Error(
      `The backup was made without --with-keys. Omit --with-keys; if the signing keys are lost, run "${PROGRAM} keys rotate" after the restore.`,
    );
  await openKeys(terminal, await text(backup.read(keys.file)), passphrase(terminal));
}

/** The erasures of a journal: of `given`, else of the one on this machine. */
async function listedErasures({ environment, err }: CliIo, given: string | undefined): Promise<Erasure[]> {
  const journal = given ?? readConfig(environment).erasureJournal;
  if (given !== undefined || existsSync(journal)) return readErasures(journal);
  err(
    `No erasure is repeated: ${journal} is missing, or this user may not read its folder. If patients were erased, stop, and begin again with --erasures (a restore: into an empty database).\n`,
  );
  return [];
}

/** The erasures whose patients are in the restored database and not erased there. */
async function notErased({ db }: DomainContext, erasures: readonly Erasure[]): Promise<Erasure[]> {
  const present = await db.everyTenant.rows<{ tenantId: string; id: string }>`
    SELECT tenant_id AS "tenantId", id FROM client
    WHERE id = ANY (${erasures.map(({ patientId }) => patientId)}::uuid[]) AND NOT ${isErased('client')}`;
  return present.flatMap(({ tenantId, id }) => {
    const erasure = erasures.find((one) => one.tenantId === tenantId && one.patientId === id);
    return erasure ?? [];
  });
}

/** Repeats erasures after a restore. @returns those that failed, each with the reason */
async function eraseAgain(terminal: CliIo, erasures: readonly Erasure[]) {
  const failed: (Erasure & { readonly why: string })[] = [];
  for (const erasure of erasures) {
    const { tenantId, patientId } = erasure;
    const named = { name: 'patient erase', tenant: tenantId, subject: patientId, reason: AGAIN };
    const command = terminal.command && { ...terminal.command, ...named };
    await erase({ ...terminal, ...(command && { command }) }, tenantId, patientId, {
      beforeRetention: true,
    }).catch((error: unknown) => {
      failed.push({ ...erasure, why: `${causeOf(error)}.` });
    });
  }
  return failed;
}
