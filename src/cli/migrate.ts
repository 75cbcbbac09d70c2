import { Option, type Command } from '@commander-js/extra-typings';
import { planMigrations, type PlannedMigration } from '../adapters/database/migrationPlan.js';
import { migrateDatabase, pendingMigrations } from '../runtime/serviceDatabase.js';
import { addCommand, PROGRAM } from './command.js';
import { recordedOn, withAnySchema } from './operator.js';
import { print, table } from './output.js';
import type { CliIo } from './cliIo.js';

const NOTES = `
With --json: applied, pending with --status, or plan with --plan. A plan states for each migration how it runs, what it
locks, and how many rows those tables have by PostgreSQL's estimate. ACCESS EXCLUSIVE blocks every request for a table,
SHARE UPDATE EXCLUSIVE and ROW EXCLUSIVE block none.`;

/** Adds `migrate`, which works on a database whose schema is behind; most other commands refuse such a database. */
export function addMigrateCommand(program: Command, terminal: CliIo): void {
  const description =
    'apply the pending migrations; without --migrate, a server refuses to start if DATABASE_URL lacks one';
  addCommand(program, 'migrate', description, ['--status', '--plan', ''], { notes: NOTES })
    .option('--status', 'only list pending migrations; exit code 1 if there are any')
    .addOption(new Option('--plan', 'only print how pending migrations run and what they lock').conflicts('status'))
    .action(({ status, plan, json }) => {
      if (plan) return showPlan(terminal, json);
      return status ? showPending(terminal, json) : migrate(terminal, json);
    });
}

async function migrate(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const applied = await withAnySchema(terminal, async (database, log) => {
    const names = await migrateDatabase(database, log);
    // Record only successes: before the migrations, the table of the audit may be missing.
    return recordedOn(terminal, database.url, async () => names);
  });
  print(terminal, json, { applied }, listed('Applied', applied));
}

async function showPending(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const pending = await withAnySchema(terminal, ({ ownerUrl }, log) => pendingMigrations(ownerUrl, log));
  print(terminal, json, { pending }, listed('Pending', pending));
  if (pending.length > 0) throw new Error(`Migrations are pending. Run "${PROGRAM} migrate".`);
}

async function showPlan(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const plan = await withAnySchema(terminal, async ({ ownerUrl }, log) =>
    planMigrations(ownerUrl, await pendingMigrations(ownerUrl, log)),
  );
  const lines = plan.map(({ migration, runs, locks }) => [migration, runs, locksOf(locks)]);
  const text = plan.length > 0 ? table(['MIGRATION', 'RUNS', 'LOCKS'], lines) : listed('', []);
  print(terminal, json, { plan }, text);
}

const locksOf = (locks: PlannedMigration['locks']): string =>
  locks.map(({ mode, table: name, rows }) => `${mode} ${name} (${rows ?? 'unknown'} rows)`).join(', ') || 'none';

const listed = (state: string, names: readonly string[]): string =>
  names.length === 0
    ? 'The schema lacks no migration of this build.'
    : names.map((name) => `${state} ${name}`).join('\n');
