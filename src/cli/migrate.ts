import type { Command } from '@commander-js/extra-typings';
import { configuredDatabase, type ServiceDatabase } from '../runtime/configuredDatabase.js';
import { migrateDatabase, pendingMigrations } from '../runtime/serviceDatabase.js';
import { databaseClock, openDatabase } from '../adapters/database/database.js';
import { systemContext } from '../runtime/systemContext.js';
import { readConfig } from '../config.js';
import { recorded } from './operator.js';
import { example, print, PROGRAM } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `migrate`, the one command that works on a database whose schema is behind. */
export function addMigrateCommand(program: Command, terminal: CliIo): void {
  program
    .command('migrate')
    .description('apply the pending migrations; a server refuses to start on a database that lacks one')
    .option('--status', 'change nothing, list what is pending; exit code 1 if something is')
    .option('--json', 'print JSON: applied, or pending with --status')
    .addHelpText('after', example('migrate --status', 'migrate'))
    .action(({ status, json }) => (status ? showPending(terminal, json) : migrate(terminal, json)));
}

async function migrate(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const applied = await withAnySchema(terminal, async (database) => {
    const names = await migrateDatabase(database, notice(terminal));
    const db = openDatabase(database.url, { poolSize: 1 });
    // Before them there may be no audit: migrations that fail are not recorded.
    return recorded(terminal, { ...systemContext(db), now: await databaseClock(db) }, async () => names).finally(() =>
      db.close(),
    );
  });
  print(terminal, json, { applied }, () => listed('Applied', applied));
}

async function showPending(terminal: CliIo, json: boolean | undefined): Promise<void> {
  const pending = await withAnySchema(terminal, ({ ownerUrl }) => pendingMigrations(ownerUrl, notice(terminal)));
  print(terminal, json, { pending }, () => listed('Pending', pending));
  if (pending.length > 0) throw new Error(`Migrations are pending: run "${PROGRAM} migrate".`);
}

const notice =
  ({ err }: CliIo) =>
  (message: string): void =>
    err(`${message}\n`);

const listed = (state: string, names: readonly string[]): string =>
  names.length === 0 ? 'The schema is up to date.' : names.map((name) => `${state} ${name}`).join('\n');

async function withAnySchema<T>(terminal: CliIo, work: (database: ServiceDatabase) => Promise<T>): Promise<T> {
  const { databaseUrl, databaseOwnerUrl, dataDir } = readConfig(terminal.environment);
  const place = { databaseUrl, databaseOwnerUrl, dataDir };
  const database = await configuredDatabase({ ...place, role: 'tool', log: notice(terminal) });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
