import { Command, CommanderError } from '@commander-js/extra-typings';
import { readFileSync } from 'node:fs';
import { isUnavailable } from '../adapters/database/databaseErrors.js';
import { configWarnings } from '../runtime/configWarnings.js';
import { packageRoot } from '../packageRoot.js';
import { addAuditCommands } from './audit.js';
import { addCatalogCommands } from './catalog.js';
import { addClientCommands } from './client.js';
import { addEventCommands } from './events.js';
import { addKeyCommands } from './keys.js';
import { addMigrateCommand } from './migrate.js';
import { addOrderCommands } from './order.js';
import { addPatientCommands } from './patient.js';
import { commandOf } from './commandAudit.js';
import { example, PROGRAM } from './output.js';
import { addProviderCommands } from './provider.js';
import { addTenantCommands } from './tenant.js';
import { addWebhookCommands } from './webhook.js';
import type { CliIo } from './cliIo.js';

const FAILED = 1;
const MISUSED = 2;

/**
 * Runs one command of the operator's program. With --json, each message on standard error is a line of JSON, too.
 * @param args without the interpreter and the program itself
 * @returns the exit code: 0 done, 1 refused or failed, 2 not called as its help says
 */
export async function runCommand(args: readonly string[], terminal: CliIo): Promise<number> {
  const asJson = args.includes('--json');
  const err = (text: string): void => terminal.err(asJson ? lineOf({ notice: text.trimEnd() }) : text);
  // What commander says of wrong usage comes with its error, too.
  const usage = asJson ? () => {} : terminal.err;
  try {
    await createProgram({ ...terminal, err }, usage).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const ofUsage = error instanceof CommanderError;
    // Asking for help or the version is nothing wrong.
    if (ofUsage && error.exitCode === 0) return 0;
    if (asJson) terminal.err(lineOf({ error: ofUsage ? { message: usageOf(error) } : jsonOf(error) }));
    else if (!ofUsage) terminal.err(`${toldOf(error)}\n`);
    return ofUsage ? MISUSED : FAILED;
  }
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

function usageOf({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'There is no command without its name: see --help.';
  return message.replace('error: ', '');
}

/** An error with a list of faults, as that of a catalog, has them one by one. */
function jsonOf(error: unknown): object {
  const faults = typeof error === 'object' && error !== null && 'faults' in error ? { faults: error.faults } : {};
  return { message: toldOf(error), ...faults };
}

function createProgram(terminal: CliIo, usage: (text: string) => void): Command {
  const program = new Command(PROGRAM)
    .description(
      'Provisions tenants, API clients, catalogs, providers and keys, cancels orders, verifies patients and the audit, follows events and migrates. It works on the database of ' +
        'DATABASE_URL, else on the embedded one in DATA_DIR, whether a server is running or not.',
    )
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: usage })
    .version(packageVersion())
    .option('--as <name>', 'who runs the command, for the audit (default: USER)')
    .hook('preAction', (parent, command) => {
      configWarnings(terminal.environment).forEach((text) => terminal.err(`Warning: ${text}\n`));
      terminal.command = commandOf(command, terminal, parent.opts().as);
    })
    .addHelpText(
      'after',
      example('tenant create "Lakeside Health"', 'client create --tenant lakeside-health --preset partner'),
    );
  addTenantCommands(program, terminal);
  addClientCommands(program, terminal);
  addCatalogCommands(program, terminal);
  addProviderCommands(program, terminal);
  addOrderCommands(program, terminal);
  addPatientCommands(program, terminal);
  addEventCommands(program, terminal);
  addWebhookCommands(program, terminal);
  addKeyCommands(program, terminal);
  addAuditCommands(program, terminal);
  addMigrateCommand(program, terminal);
  return program;
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')) as { version: string };
  return version;
}

/** The message of an error, without its stack and, unless it is ours, on one line. */
function toldOf(error: unknown): string {
  if (isUnavailable(error)) return `The database does not answer: ${lastLine(error)}`;
  return error instanceof Error && error.name === 'Error' ? error.message : lastLine(error);
}

/** Prisma puts the reason last; a refused connection to several addresses has no message, but a code. */
function lastLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : error.name;
  const lines = error.message.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1) ?? code;
}
