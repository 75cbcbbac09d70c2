import { Command, CommanderError } from '@commander-js/extra-typings';
import { isUnavailable, sqlState, UnknownOutcome } from '../adapters/database/databaseErrors.js';
import { POOLER_REMEDY } from '../adapters/database/databaseUrl.js';
import { lastLine } from '../failures.js';
import { Problem } from '../problem.js';
import { configWarnings } from '../runtime/configWarnings.js';
import { version } from '../packageRoot.js';
import { addAuditCommands } from './audit.js';
import { addBackupCommands } from './backup/commands.js';
import { addCatalogCommands } from './catalog.js';
import { addCitusCommands } from './citus.js';
import { addClientCommands } from './client.js';
import { addDoctorCommand } from './doctor.js';
import { addKeyCommands } from './keys.js';
import { addMigrateCommand } from './migrate.js';
import { addOrderCommands } from './order.js';
import { addPatientCommands } from './patient.js';
import { commandOf } from './commandAudit.js';
import { PROGRAM } from './command.js';
import { addProviderCommands } from './provider.js';
import { addTenantCommands } from './tenant.js';
import { colored } from './output.js';
import type { CliIo } from './cliIo.js';

const REPEAT = 'repeat the command ("restore": into an empty database).';
const FAILED = 1;
const MISUSED = 2;
const EXAMPLES = `
Example:
  $ ${PROGRAM} tenant create "Lakeside Health"
  $ ${PROGRAM} client create --tenant lakeside-health --preset partner`;

/** Runs one command. With --json, messages are lines of JSON. @returns 0 success, 1 failure, 2 wrong usage */
export async function runCommand(args: readonly string[], terminal: CliIo): Promise<number> {
  const asJson = args.includes('--json');
  const told = (text: string): string => (text.startsWith('Warning: ') ? colored(terminal, 'yellow', text) : text);
  const err = (text: string): void => terminal.err(asJson ? lineOf({ notice: text.trimEnd() }) : told(text));
  // With --json, wrong usage is printed as a JSON line below instead.
  const usage = asJson ? () => {} : terminal.err;
  try {
    await createProgram({ ...terminal, err }, usage).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const ofUsage = error instanceof CommanderError;
    // Commander ends --help and --version with an error, too; those are successes.
    if (ofUsage && error.exitCode === 0) return 0;
    if (asJson) terminal.err(lineOf({ error: ofUsage ? { message: usageOf(error) } : jsonOf(error) }));
    else if (!ofUsage) terminal.err(`${colored(terminal, 'red', toldOf(error))}\n`);
    return ofUsage ? MISUSED : FAILED;
  }
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

function usageOf({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'Missing command. See --help.';
  return message.replace('error: ', '');
}

/** An error as JSON, with the faults of the imported catalog or providers, if any. */
function jsonOf(error: unknown): object {
  const faults = typeof error === 'object' && error !== null && 'faults' in error ? { faults: error.faults } : {};
  return { message: toldOf(error), ...faults };
}

/** Creates the program with all commands. @param usage receives messages about wrong usage */
export function createProgram(terminal: CliIo, usage: (text: string) => void): Command {
  const program = new Command(PROGRAM)
    .description(
      'Manages tenants, API clients, catalogs, providers, orders, patients, keys, the audit, ' +
        'backups and the schema, and checks the installation. Works on ' +
        'the database of DATABASE_URL or, without it, on the embedded one in DATA_DIR, with and without a running server.',
    )
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: usage,
      outputError: (text, write) => write(colored(terminal, 'red', text)),
    })
    .version(`${version} (contract ${version})`)
    .option('--as <name>', 'the name of the operator in the audit (default: USER)')
    .hook('preAction', (parent, command) => {
      configWarnings(terminal.environment).forEach((text) => terminal.err(`Warning: ${text}\n`));
      terminal.command = commandOf(command, terminal, parent.opts().as);
    })
    .addHelpText('after', EXAMPLES);
  addTenantCommands(program, terminal);
  addClientCommands(program, terminal);
  addCatalogCommands(program, terminal);
  addProviderCommands(program, terminal);
  addOrderCommands(program, terminal);
  addPatientCommands(program, terminal);
  addKeyCommands(program, terminal);
  addAuditCommands(program, terminal);
  addBackupCommands(program, terminal);
  addMigrateCommand(program, terminal);
  addCitusCommands(program, terminal);
  addDoctorCommand(program, terminal);
  return program;
}

/** An error's text for the operator, with its remedy if known; the last line of an error whose name is not Error. */
function toldOf(error: unknown): string {
  const text = textOf(error);
  const advice = adviceOf(error, text);
  return advice ? `${text.replace(/\.$/, '')}. ${advice}` : text;
}

/**
 * The remedy for a pooler's error, for SQLSTATE 28P01, wrong password, 42501, missing right, and 42P01, undefined table, and
 * for other texts that are not this program's, which end with a period or have several lines.
 */
function adviceOf(error: unknown, text: string): string | undefined {
  const [pooler, remedy] = POOLER_REMEDY;
  if (pooler.test(text)) return remedy;
  const state = sqlState(error) ?? (error instanceof Error ? sqlState(error.cause) : undefined);
  if (state === '28P01' && !text.includes('DATA_DIR') && !isUnavailable(error))
    return 'Correct the user or password in DATABASE_URL, DATABASE_DIRECT_URL or DATABASE_OWNER_URL.';
  if (state === '42P01' && !text.startsWith('Migration '))
    return `Set the DATABASE_… variables to the service's database; if they are right, run "${PROGRAM} migrate".`;
  if (state === '42501' && !text.includes('DATABASE_OWNER_URL'))
    return `Set DATABASE_OWNER_URL, with the role that owns the schema public and all tables. If the error remains, run "${PROGRAM} migrate" (not before a restore), or grant the rights that the role lacks.`;
  return /\.$|\n|doctor/.test(text) ? undefined : `See "${PROGRAM} doctor".`;
}

function textOf(error: unknown): string {
  if (error instanceof UnknownOutcome) return `${error.message}.`;
  if (isUnavailable(error))
    return `The database cannot do this now: ${lastLine(error)}. See "${PROGRAM} doctor"; if it finds no fault, ${REPEAT}`;
  // The problem's own text is for callers of the API.
  if (error instanceof Problem && error.cause !== undefined)
    return `Documents cannot be read or stored: ${lastLine(error.cause)}. Correct that (see "${PROGRAM} doctor"), then ${REPEAT}`;
  if (error instanceof Problem && error.code.endsWith('_not_found')) {
    return `The tenant has no such ${error.code.replace('_not_found', '')}. Check its id or number, and --tenant.`;
  }
  if (error instanceof Problem) return `${lastLine(error)}.`;
  return error instanceof Error && error.name === 'Error' ? error.message : lastLine(error);
}
