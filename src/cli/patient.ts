import { Option, type Command } from '@commander-js/extra-typings';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnknownOutcome } from '../adapters/database/databaseErrors.js';
import type { ObjectStore } from '../adapters/objects/objectStore.js';
import { erasePatient } from '../domain/sweeps/erase.js';
import { endAllApprovals } from '../domain/reviews/endings.js';
import { exportPatient, type PatientExport } from '../domain/patients/export.js';
import { recordVerification } from '../domain/patients/verification.js';
import { readConfig } from '../config.js';
import { causeOf, messageOf } from '../failures.js';
import { Problem } from '../problem.js';
import { confirm, confirmable } from './confirmation.js';
import { noteErasure, type Erasure } from './erasureJournal.js';
import { addGroup, addTenantCommand } from './command.js';
import { inTenant, openStore, withTenant } from './operator.js';
import { print, reasonCode, uuidOr } from './output.js';
import type { CliIo } from './cliIo.js';

const EXAMPLE = '01a10caf-a4c0-7a11-8f00-3c5e6f7a8b9c --tenant lakeside';
const statuses = ['INVITED', 'VERIFIED', 'NOTVERIFIED'] as const;
const uuid = uuidOr('Give the user_id of the patient.');

export function addPatientCommands(program: Command, terminal: CliIo): void {
  const patient = addGroup(program, 'patient', 'the patients of a tenant');
  const description =
    'record the result of an identity verification; --status INVITED for an invited patient records a new invitation';
  addTenantCommand(patient, 'verify', description, [EXAMPLE])
    .argument('<user-id>', 'id of the patient', uuid)
    .addOption(new Option('--status <status>', 'the new status').choices(statuses).default('VERIFIED' as const))
    .action(async (userId, { tenant, status, json }) => {
      const { isVerified } = await inTenant(terminal, tenant, (transaction, id) =>
        recordVerification(transaction, id, userId, status),
      ).catch((error: unknown) => {
        const current = error instanceof Problem ? error.extra['current_status'] : undefined;
        if (current === undefined) throw error;
        const refused = `The patient ${userId} is ${String(current)} and cannot become ${status}`;
        throw new Error(`${refused}. Rule R-122 in openapi/rules.md lists the possible changes.`, { cause: error });
      });
      print(terminal, json, { userId, isVerified }, `${userId} is ${isVerified}.`);
    });

  const exporting =
    'write all data about a patient to a new folder: patient.ndjson, and the documents in files/, except those that ' +
    'were withdrawn as wrong_patient';
  addTenantCommand(patient, 'export', exporting, [`${EXAMPLE} --to export`])
    .argument('<user-id>', 'id of the patient', uuid)
    .requiredOption('--to <folder>', 'path of the new folder, which only its owner can read')
    .action(async (id, { tenant, to, json }) => {
      const store = await openStore(terminal);
      await mkdir(to, { mode: 0o700 }).catch((cause: unknown) => {
        const advice = 'Choose a new folder inside one that you can write to.';
        throw new Error(`${to} cannot be created: ${messageOf(cause)}. ${advice}`, { cause });
      });
      // Read and audit the export before the first file is written.
      const exported = await withTenant(terminal, tenant, (context, tenantId) =>
        exportPatient(context, tenantId, id),
      ).catch(async (error: unknown) => {
        await rmdir(to);
        throw error;
      });
      await writeExport(to, exported, store).catch((cause: unknown) => {
        const advice = 'Delete this folder, correct that, then export again.';
        throw new Error(`${to} is incomplete: ${causeOf(cause)}. ${advice}`, { cause });
      });
      const { rows, documents, omittedDocuments } = exported;
      const shown = { folder: to, rows: rows.length, files: documents.length, omittedDocuments };
      const omitted = `Documents left out because they belong to another person: ${omittedDocuments}.`;
      print(terminal, json, shown, `${shown.rows} rows and ${shown.files} files were written to ${to}. ${omitted}`);
    });

  const erasing =
    'irreversibly anonymize a patient: removes documents, texts and contact data; keeps encounters, orders and the audit ' +
    'with ids, statuses and amounts. Refused while an encounter or an order is open, and before the end of the ' +
    'retention period (tenant configure --record-retention-years)';
  confirmable(addTenantCommand(patient, 'erase', erasing, [`${EXAMPLE} --yes`]))
    .argument('<user-id>', 'id of the patient', uuid)
    .option('--before-retention', 'erase before the retention period ends; needs --reason')
    .option('--reason <code>', 'why, as a word or reference without personal data, for the audit', reasonCode)
    .action(async (id, { tenant, json, reason, yes, beforeRetention }, command) => {
      if ((reason === undefined) === (beforeRetention ?? false)) {
        command.error('error: give --before-retention and --reason together');
      }
      await confirm(terminal, `This irreversibly anonymizes patient ${id} of ${tenant}.`, yes);
      await note(terminal, 'Nothing was erased');
      const { tenantId, objects, encounters } = await erase(terminal, tenant, id, { beforeRetention });
      const erasure = { tenantId, patientId: id, erasedAt: new Date().toISOString() };
      await note(terminal, 'The patient was erased, but a restore would not repeat the erasure', erasure);
      const counts = `Documents removed: ${objects.length}. Encounters kept without personal data: ${encounters}`;
      print(terminal, json, { id, documents: objects.length, encounters }, `Patient ${id} was erased. ${counts}.`);
    });
}

/** Erases a patient, and the files of the patient's documents, and records the erasure in the audit. */
export async function erase(
  terminal: CliIo,
  tenant: string,
  id: string,
  given: { readonly beforeRetention: boolean | undefined },
) {
  const store = await openStore(terminal);
  const erased = await inTenant(terminal, tenant, async (transaction, tenantId) => {
    await endAllApprovals(transaction, tenantId, id);
    return { tenantId, ...(await erasePatient(transaction, tenantId, id, given)) };
  }).catch((cause: unknown) => {
    if (!(cause instanceof UnknownOutcome)) throw cause;
    const advice = 'Repeat the erasure: that is safe, and adds it to ERASURE_JOURNAL.';
    throw new Error(`It is unknown whether the patient was erased. ${advice}`, { cause });
  });
  try {
    for (const key of erased.objects) await store.remove(key);
  } catch {
    terminal.err(
      'Warning: The object store may still have files of the removed documents. The daily job of a server removes them.\n',
    );
  }
  return erased;
}

/**
 * Writes the journal after the commit, because the journal must not name patients who were not erased. Without an erasure,
 * only checks before it that the journal can be written. @param state begins the error
 */
async function note(terminal: CliIo, state: string, erasure?: Erasure): Promise<void> {
  const { erasureJournal } = readConfig(terminal.environment);
  await noteErasure(erasureJournal, erasure).catch((cause: unknown) => {
    const advice = `${erasureJournal} cannot be written: ${messageOf(cause)}. Correct that, then repeat the command.`;
    throw new Error(`${state}: ${advice}`, { cause });
  });
}

async function writeExport(to: string, { rows, documents }: PatientExport, store: ObjectStore): Promise<void> {
  const plain = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
  const lines = rows.map(({ type, data }) => `${JSON.stringify({ type, data }, plain)}\n`);
  const options = { mode: 0o600, flag: 'wx' };
  await writeFile(join(to, 'patient.ndjson'), lines.join(''), options);
  await mkdir(join(to, 'files'), { mode: 0o700 });
  // Name the files by id, because callers choose the documents' names.
  for (const { id, blobPath } of documents)
    await writeFile(join(to, 'files', id), store.read(blobPath), options).catch((cause: unknown) => {
      throw new Error(`document ${id}: ${causeOf(cause)}`, { cause });
    });
}
