import { Option, type Command } from '@commander-js/extra-typings';
import { findTenant } from '../domain/access/tenants.js';
import { sqlState } from '../adapters/database/databaseErrors.js';
import { readAudit } from '../domain/audit/export.js';
import { purgeAudit } from '../domain/sweeps/purgeAudit.js';
import { verifyAudit } from '../domain/audit/verify.js';
import { fhirAuditEvent } from './auditFhir.js';
import { addCommand, addGroup } from './command.js';
import { withDatabase } from './operator.js';
import { fields, moment, print, table, wholeNumber } from './output.js';
import type { CliIo } from './cliIo.js';

/** Six years in days, for which HIPAA requires its documentation to be kept (45 CFR 164.316(b)(2)(i)). */
const KEPT_DAYS = 2_192;

export function addAuditCommands(program: Command, terminal: CliIo): void {
  const audit = addGroup(program, 'audit', 'the record of accesses and changes');

  const verifying =
    "recompute each tenant's chain of checkpoints, and name the first changed row or checkpoint, or the first row that has " +
    'lacked a checkpoint for minutes; exit code 1 if it finds one';
  addCommand(audit, 'verify', verifying).action(async ({ json }) => {
    const { fault, heads, checkpoints, rows } = await withDatabase(terminal, verifyAudit);
    if (fault !== null)
      throw new Error(`The audit failed its verification. ${fault} See scripts/production/retention.md#the-audit.`);
    const latest = heads.map(({ tenantId, number, hash }) => [tenantId, String(number), hash]);
    const told = [
      fields({ checkpoints, 'rows with a checkpoint': rows }),
      table(['TENANT', 'LATEST CHECKPOINT', 'HASH'], latest),
    ];
    print(terminal, json, { checkpoints, rows, heads }, told.join('\n\n'));
  });

  const examples = ['--since 2026-11-01 --until 2026-12-01 > november.ndjson'];
  addCommand(audit, 'export', 'print the audit, one JSON object per line', examples)
    .requiredOption('--since <time>', 'from this time on, such as 2026-11-01 or 2026-11-01T06:00:00Z', moment)
    .requiredOption('--until <time>', 'before this time', moment)
    .option('--tenant <tenant>', 'id or name of one tenant (default: all, and rows without a tenant)')
    .addOption(
      new Option('--format <format>', 'stored rows, or AuditEvents of FHIR R4')
        .choices(['ndjson', 'fhir'])
        .default('ndjson'),
    )
    .action(({ since, until, tenant, format }) =>
      withDatabase(terminal, async (context) => {
        const tenantId = tenant === undefined ? undefined : (await findTenant(context, tenant)).id;
        for await (const row of readAudit(context, { since, until, tenantId })) {
          const shown = format === 'fhir' ? fhirAuditEvent(row) : { ...row, position: Number(row.position) };
          terminal.out(`${JSON.stringify(shown)}\n`);
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
        const advice =
          'Only the role that owns the tables may remove rows of the audit. Set DATABASE_OWNER_URL, with that role.';
        throw new Error(advice, { cause });
      });
      print(terminal, json, { removed }, removed === 1 ? '1 row was removed.' : `${removed} rows were removed.`);
    });
}
