import { Command, CommanderError } from '@commander-js/extra-typings';
import { isUnavailable } from '../adapters/database.js';
import { addCatalogCommands } from './catalog.js';
import { addClientCommands } from './client.js';
import { addKeyCommands } from './keys.js';
import { addMigrateCommand } from './migrate.js';
import { addOrderCommands } from './order.js';
import { example, PROGRAM } from './output.js';
import { addTenantCommands } from './tenant.js';
import type { Terminal } from './terminal.js';

const FAILED = 1;
const MISUSED = 2;

/**
 * Runs one command of the operator's program.
 * @param args without the interpreter and the program itself
 * @returns the exit code: 0 done, 1 refused or failed, 2 not called as its help says
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said what is wrong, and asking for help is nothing wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    terminal.err(`${messageOf(error)}\n`);
    return FAILED;
  }
}

function createProgram(terminal: Terminal): Command {
  const program = new Command(PROGRAM)
    .description(
      'Provisions tenants, API clients, catalogs and keys, cancels orders and migrates. It works on the database of ' +
        'DATABASE_URL, else on the embedded one in DATA_DIR, whether a server is running or not.',
    )
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) })
    .addHelpText(
      'after',
      example('tenant create "Lakeside Health"', 'client create --tenant lakeside-health --preset partner'),
    );
  addTenantCommands(program, terminal);
  addClientCommands(program, terminal);
  addCatalogCommands(program, terminal);
  addOrderCommands(program, terminal);
  addKeyCommands(program, terminal);
  addMigrateCommand(program, terminal);
  return program;
}

/** The message of an error, without its stack and, unless it is ours, on one line. */
function messageOf(error: unknown): string {
  if (isUnavailable(error)) return `The database does not answer: ${lastLine(error)}`;
  return error instanceof Error && error.name === 'Error' ? error.message : lastLine(error);
}

/** Prisma puts the reason last; a refused connection to several addresses has no message, but a code. */
function lastLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : error.name;
  return (
    error.message
      .split('\n')
      .filter((line) => line.trim() !== '')
      .at(-1) ?? code
  );
}
