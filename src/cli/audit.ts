import type { Command } from '@commander-js/extra-typings';
import { findTenant } from '../domain/access/tenants.js';
import { sqlState } from '../adapters/database/databaseErrors.js';
import { readAudit } from '../domain/audit/export.js';
import { purgeAudit } from '../domain/sweeps/purgeAudit.js';
import { verifyAudit, type ExpectedCheckpoint } from '../domain/audit/verify.js';
import { addCommand, addGroup } from './command.js';
import { withDatabase } from './operator.js';
import { assertUsage, fields, moment, print, wholeNumber } from './output.js';
import type { CliIo } from './cliIo.js';

/** Six years in days: how long 45 CFR 164.316(b)(2)(i) requires to keep such records. */
const KEPT_DAYS = 2_192;

export function addAuditCommands(program: Command, terminal: CliIo): void {
  const audit = addGroup(program, 'audit', 'the record of accesses and changes');

  const verifying =
    'recompute the chain of checkpoints; names the first changed row or checkpoint, or the first row that has had no ' +
    'checkpoint for minutes; exit code 1 if there is one';
  addCommand(audit, 'verify', verifying, ['', `--expect 1440 ${'3f'.repeat(32)}`])
    .option(
      '--expect <checkpoint...>',
      'number and hash of a checkpoint that must exist, from an earlier run or the log',
    )
    .action(async ({ expect = [], json }, command) => {
      let expected: ExpectedCheckpoint | undefined;
      assertUsage(command, () => (expected = checkpointOf(expect)));
      const verdict = await withDatabase(terminal, (context) => verifyAudit(context, expected));
      const { fault, head, checkpoints, rows } = verdict;
      if (fault !== null) throw new Error(`The audit differs from its checkpoints. ${fault}`);
      const latest = head ? `${head.number} ${head.hash}` : 'none';
      const told = fields({ checkpoints, 'sealed rows': rows, 'latest checkpoint': latest });
      print(terminal, json, { checkpoints, rows, head }, told);
    });

  const examples = ['--since 2026-11-01 --until 2026-12-01 > november.ndjson'];
  addCommand(audit, 'export', 'print the audit, one JSON object per line', examples)
    .requiredOption('--since <time>', 'from this time on, such as 2026-11-01 or 2026-11-01T06:00:00Z', moment)
    .requiredOption('--until <time>', 'before this time', moment)
    .option('--tenant <tenant>', 'id or name of one tenant (default: all, and rows without a tenant)')
    .action(({ since, until, tenant }) =>
      withDatabase(terminal, async (context) => {
        const tenantId = tenant === undefined ? undefined : (await findTenant(context, tenant)).id;
        for await (const row of readAudit(context, { since, until, tenantId })) {
          terminal.out(`${JSON.stringify({ ...row, position: Number(row.position) })}\n`);
        }
      }),
    );

  const purging =
    'remove rows past their retention period, as the role of DATABASE_OWNER_URL, because the service itself may remove ' +
    'none. A checkpoint records the removal. Schedule it daily';
  addCommand(audit, 'purge', purging)
    .option('--keep-days <number>', 'days that a row is kept', wholeNumber(1, 99_999), KEPT_DAYS)
    .action(async ({ keepDays, json }) => {
      const purge = withDatabase(terminal, (context) => purgeAudit(context, keepDays), { asOwner: true });
      const removed = await purge.catch((cause: unknown) => {
        // SQLSTATE 42501 means insufficient privilege.
        if (sqlState(cause) !== '42501') throw cause;
        const advice = 'The role of DATABASE_URL may not remove rows of the audit. Set DATABASE_OWNER_URL.';
        throw new Error(advice, { cause });
      });
      print(terminal, json, { removed }, removed === 1 ? '1 row was removed.' : `${removed} rows were removed.`);
    });
}

/** The checkpoint in the arguments. @throws Error unless there are none, or a number and a hash */
function checkpointOf([number, hash, ...more]: readonly string[]): ExpectedCheckpoint | undefined {
  if (number === undefined) return undefined;
  if (/^[1-9]\d{0,17}$/.test(number) && /^[0-9a-f]{64}$/i.test(hash ?? '') && more.length === 0) {
    return { number: BigInt(number), hash: hash ?? '' };
  }
  throw new Error('Give --expect the number of a checkpoint and its hash of 64 hexadecimal digits.');
}
