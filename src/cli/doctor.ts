import { causeOf } from '../failures.js';
import type { Command } from '@commander-js/extra-typings';
import { openDatabase } from '../adapters/database/database.js';
import { configFaults, readConfig, type Config } from '../config.js';
import { configuredDatabase } from '../runtime/configuredDatabase.js';
import { configWarnings, setVariables } from '../runtime/configWarnings.js';
import {
  CHECK_TIMEOUT_MS,
  checkOf,
  failure,
  ok,
  remedyFor,
  runChecks,
  warning,
  type Check,
  type Finding,
} from './checks/check.js';
import { addressChecks } from './checks/addressChecks.js';
import { checkContents, readServer } from './checks/databaseChecks.js';
import { diskCheck, serviceChecks } from './checks/serviceChecks.js';
import { addCommand } from './command.js';
import type { CliIo } from './cliIo.js';
import { databasePlace } from './operator.js';
import { colored, print, wholeNumber } from './output.js';

const NOTES = `
Run it as the user of the service: it creates what is missing in DATA_DIR, and stores and deletes one object below doctor/.
Exit code 1 if a check fails; warnings do not count.
With --json: findings with check, level (ok, warning, failure), message and remedy.`;

/** Adds `doctor`. The audit omits it, because it must work without a database. */
export function addDoctorCommand(program: Command, terminal: CliIo): void {
  const description =
    'check configuration, database, object store, scanner, keys and server, with a remedy for each finding';
  addCommand(program, 'doctor', description, ['', '--servers 3'], { notes: NOTES })
    .option('--servers <number>', 'servers that share the database', wholeNumber(1, 1_000), 1)
    .action(async ({ json, servers }) => {
      const own = await runChecks([configCheck(terminal)]);
      const isReadable = configFaults(terminal.environment).size === 0;
      const others = isReadable ? await checkParts(terminal, readConfig(terminal.environment), servers) : [];
      report(terminal, json, [...own, ...others]);
    });
}

async function checkParts(terminal: CliIo, config: Config, servers: number): Promise<Finding[]> {
  const ofDatabase = await checkDatabase(terminal, config, servers);
  const disk = await runChecks([diskCheck(config)]);
  const hasDisk = disk.every(({ level }) => level !== 'failure');
  return [...ofDatabase, ...disk, ...(await runChecks(serviceChecks(config, hasDisk)))];
}

async function checkDatabase(terminal: CliIo, config: Config, servers: number): Promise<Finding[]> {
  try {
    const database = await configuredDatabase(databasePlace(terminal));
    const { url } = database;
    const db = openDatabase(url, { poolSize: 4, timeoutMs: CHECK_TIMEOUT_MS });
    try {
      const contents = await checkContents(await readServer(db), { db, url, config, servers });
      return [...contents, ...(await runChecks(addressChecks(config, database)))];
    } finally {
      await db.close();
      await database.close();
    }
  } catch (error) {
    const cause = causeOf(error);
    const variable = config.databaseDirectUrl === null ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
    const remedy =
      config.databaseUrl === null
        ? 'Correct what the message or postgres.log in DATA_DIR says. If the service uses another database, set DATABASE_URL.'
        : `Start PostgreSQL, free its connections, or correct the variable or file in the message, or host, role (with CONNECT), password, database and sslmode of ${variable}.`;
    const message = `The checks of the database were skipped: ${cause}.`;
    return [{ check: 'database', ...failure(message, remedyFor(cause, remedy)) }];
  }
}

function configCheck({ environment }: CliIo): Check {
  const remedy = 'Correct the variable: scripts/production/configuration.md lists every variable.';
  return checkOf('configuration', remedy, async () => {
    const faults = [...configFaults(environment).values()].map((text) =>
      failure(text, `${remedy} Then run doctor again, for the other checks.`),
    );
    const warnings = configWarnings(environment).map((text) => warning(text, remedy));
    const set = setVariables(environment);
    const message = `Set: ${set.join(', ') || 'none'}. The others have their defaults.`;
    return faults.length + warnings.length > 0 ? [...faults, ...warnings] : ok(message);
  });
}

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red' } as const;

/** Prints the findings. @throws Error naming the checks that failed */
function report(terminal: CliIo, asJson: boolean | undefined, findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, level, message, remedy }) => {
    const line = `${colored(terminal, COLORS[level], level.padEnd(7))}  ${check.padEnd(width)}  ${message}`;
    return remedy === null ? line : `${line}\n${' '.repeat(width + 11)}→ ${remedy}`;
  });
  print(terminal, asJson, { findings }, lines.join('\n'));
  const failed = new Set(findings.filter(({ level }) => level === 'failure').map(({ check }) => check));
  if (failed.size > 0) throw new Error(`Failed: ${[...failed].join(', ')}. See the remedies of these checks.`);
}
