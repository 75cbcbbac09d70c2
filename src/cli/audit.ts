import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { findTenant } from '../domain/access/tenants.js';
import { sqlState } from '../adapters/database/databaseErrors.js';
import { readAudit } from '../domain/audit/export.js';
import { purgeAudit } from '../domain/sweeps/purgeAudit.js';
import { verifyAudit, type ExpectedCheckpoint } from '../domain/audit/verify.js';
import { fhirAuditEvent } from './auditFhir.js';
import { withDatabase } from './operator.js';
import { assertUsage, example, fields, print } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `audit verify|export|purge`. */
export function addAuditCommands(program: Command, terminal: CliIo): void {
  const audit = program.command('audit').description('who saw or did what').helpCommand(false);
  addVerify(audit, terminal);
  addExport(audit, terminal);
  addPurge(audit, terminal);
}

function addVerify(audit: Command, terminal: CliIo): void {
  audit
    .command('verify')
    .description(
      'recompute the chain of checkpoints; names the first row or checkpoint that was touched, or the first row that has not been ' +
        'sealed for minutes; exit code 1 if there is one',
    )
    .option(
      '--expect <checkpoint...>',
      'number and hash of a checkpoint, as an earlier run or the log said: it must be there',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', example('audit verify', `audit verify --expect 1440 ${'3f'.repeat(32)}`))
    .action(async ({ expect = [], json }, command) => {
      let expected: ExpectedCheckpoint | undefined;
      assertUsage(command, () => (expected = checkpointOf(expect)));
      const verdict = withDatabase(terminal, (context) => verifyAudit(context, expected));
      const { fault, head, ...counts } = await verdict;
      if (fault !== null) throw new Error(`The audit is not as it was sealed. ${fault}`);
      const latest = head ? `${head.number} ${head.hash}` : 'none';
      const told = {
        checkpoints: String(counts.checkpoints),
        'sealed rows': String(counts.rows),
        'latest checkpoint': latest,
      };
      print(terminal, json, { ...counts, head }, () => fields(told));
    });
}

/** @throws Error when it is none */
function checkpointOf([number, hash, ...more]: readonly string[]): ExpectedCheckpoint | undefined {
  if (number === undefined) return undefined;
  if (/^[1-9]\d{0,17}$/.test(number) && /^[0-9a-f]{64}$/i.test(hash ?? '') && more.length === 0) {
    return { number: BigInt(number), hash: hash ?? '' };
  }
  throw new Error('Give --expect the number of a checkpoint and its hash of 64 hexadecimal digits.');
}

function addExport(audit: Command, terminal: CliIo): void {
  audit
    .command('export')
    .description('print the audit, one JSON object a line')
    .requiredOption('--since <time>', 'from this moment on, such as 2026-11-01 or 2026-11-01T06:00:00Z', moment)
    .requiredOption('--until <time>', 'before this moment', moment)
    .option('--tenant <tenant>', 'id or name of one tenant (default: all, and what concerns none)')
    .addOption(
      new Option('--format <format>', 'the rows as they are, or AuditEvents of FHIR R4')
        .choices(['ndjson', 'fhir'])
        .default('ndjson'),
    )
    .option('--json', 'print JSON, as without it')
    .addHelpText('after', example('audit export --since 2026-11-01 --until 2026-12-01 > november.ndjson'))
    .action(async ({ since, until, tenant, format }) => {
      await withDatabase(terminal, async (context) => {
        const tenantId = tenant === undefined ? undefined : (await findTenant(context, tenant)).id;
        for await (const row of readAudit(context, { since, until, tenantId })) {
          const shown = format === 'fhir' ? fhirAuditEvent(row) : { ...row, position: Number(row.position) };
          terminal.out(`${JSON.stringify(shown)}\n`);
        }
      });
    });
}

/** 45 CFR 164.316(b)(2)(i) asks for six years. */
const KEPT_DAYS = 2_192;

function addPurge(audit: Command, terminal: CliIo): void {
  audit
    .command('purge')
    .description(
      'remove rows whose time is over, as the role of DATABASE_OWNER_URL: the service itself may remove none. The chain ' +
        'says what was removed. Run it by the clock, once a day',
    )
    .option('--keep-days <number>', 'days that a row is kept', days, KEPT_DAYS)
    .option('--json', 'print JSON')
    .addHelpText('after', example('audit purge'))
    .action(async ({ keepDays, json }) => {
      const purging = withDatabase(terminal, (context) => purgeAudit(context, keepDays), { asOwner: true });
      const removed = await purging.catch((cause: unknown) => {
        // SQLSTATE 42501: insufficient privilege.
        if (sqlState(cause) !== '42501') throw cause;
        const advice = 'The role of DATABASE_URL may not remove rows of the audit: give DATABASE_OWNER_URL.';
        throw new Error(advice, { cause });
      });
      const told = removed === 1 ? '1 row was removed.' : `${removed} rows were removed.`;
      print(terminal, json, { removed }, () => told);
    });
}

function days(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number from 1 to 99999.');
}

/** Reads a moment. */
export function moment(text: string): Date {
  const time = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('Give a date, or a date and a time with its zone.');
}
