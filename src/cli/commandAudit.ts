import { validate as isUuid } from 'uuid';
import { hostname } from 'node:os';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { auditRecorder, emptyRow } from '../domain/audit/recorder.js';
import type { AuditRow, DomainContext } from '../context.js';
import type { CliIo, RunningCommand } from './cliIo.js';

const CLIENT_ID = /^ces_[a-z2-7]{20}$/;
const ORDER_NO = /^[A-Za-z]{2,10}-\d{1,18}$/;

/** Describes a command for the audit. @param as name of the operator; default: USER, else the uid */
export function commandOf(command: CommandUnknownOpts, { environment }: CliIo, as: string | undefined): RunningCommand {
  const { parent } = command;
  const group = parent?.parent ? parent.name() : undefined;
  const [first] = command.args;
  const { tenant, dryRun, reason }: Readonly<Record<string, unknown>> = command.opts();
  const named = typeof tenant === 'string' ? tenant : group === 'tenant' ? first : undefined;
  return {
    name: [group, command.name(), dryRun ? '--dry-run' : undefined].filter(Boolean).join(' '),
    operator: `${as ?? environment['USER'] ?? `uid ${process.getuid?.() ?? 'unknown'}`}@${hostname()}`,
    tenant: named ?? null,
    subject: first ?? null,
    reason: typeof reason === 'string' ? reason : null,
  };
}

/** The members of a command's result that the audit reads. */
interface Result {
  readonly clientId?: unknown;
  readonly tenant?: unknown;
  readonly encounter?: { readonly patientId?: unknown };
}

/**
 * Records a command in the audit of its tenant, if any. @param result may name a new client or tenant, or a patient
 * @throws Problem dependency_unavailable; the driver's error if the tenant cannot be looked up
 */
export async function recordCommand(
  context: DomainContext,
  { name, operator, tenant: named, subject, reason }: RunningCommand,
  outcome: AuditRow['outcome'],
  result: unknown,
): Promise<void> {
  const [resourceType = null] = name.split(' ').slice(0, -1);
  const { clientId: made, encounter, tenant: added } = Object(result) as Result;
  const tenant = named ?? (typeof added === 'string' ? added : null);
  const clientId = [subject, made].find((id) => typeof id === 'string' && CLIENT_ID.test(id));
  const [found] = await context.db.everyTenant.rows<{ id: string }>`
    SELECT tenant_id AS id FROM api_client WHERE client_id = ${clientId ?? null}::text
    UNION ALL (SELECT id FROM tenant WHERE id = ${tenant}::text OR lower(name) = lower(${tenant}::text)
      ORDER BY id <> ${tenant}::text)`;
  const tenantId = found?.id ?? null;
  const patients = [resourceType === 'patient' ? subject : null, encounter?.patientId];
  const patientIds = patients.filter((id): id is string => isUuid(id));
  const ids: Readonly<Record<string, unknown>> = {
    client: clientId,
    tenant: tenantId,
    patient: patientIds[0],
    order: subject !== null && ORDER_NO.test(subject) ? subject : undefined,
  };
  await auditRecorder(context)({
    ...emptyRow,
    ...{ at: context.now(), tenantId, operator, operationId: name, outcome, resourceType },
    resourceId: (ids[resourceType ?? ''] as string | null | undefined) ?? null,
    patientIds,
    code: reason,
  });
}
