import type { Command } from '@commander-js/extra-typings';
import { migrateDatabase, pendingMigrations } from '../runtime/serviceDatabase.js';
import { addCommand, PROGRAM } from './command.js';
import { recordedOn, withAnySchema } from './operator.js';
import { print } from './output.js';
import type { CliIo } from './cliIo.js';

const NOTES = '\nWith --json: applied, or pending with --status.';

/** Adds `migrate`, the one command that works on a database whose schema is behind. */
export function addMigrateCommand(program: Command, terminal: CliIo): void {
  const description = 'apply the pending migrations; a server refuses to start on a database that lacks one';
  addCommand(program, 'migrate', description, ['--status', ''], { notes: NOTES })
    .option('--status', 'only list pending migrations; exit code 1 if there are any')
    .action(({ status, json }) => (status ? showPending(terminal, json) : migrate(terminal, json)));
}

async function migrate(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const applied = await withAnySchema(terminal, async (database, log) => {
    const names = await migrateDatabase(database, log);
    // Before the migrations there may be no audit, so failures are not recorded.
    return recordedOn(terminal, database.url, async () => names);
  });
  print(terminal, json, { applied }, listed('Applied', applied));
}

async function showPending(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const pending = await withAnySchema(terminal, ({ ownerUrl }, log) => pendingMigrations(ownerUrl, log));
  print(terminal, json, { pending }, listed('Pending', pending));
  if (pending.length > 0) throw new Error(`Migrations are pending. Run "${PROGRAM} migrate".`);
}

const listed = (state: string, names: readonly string[]): string =>
  names.length === 0 ? 'The schema is up to date.' : names.map((name) => `${state} ${name}`).join('\n');
