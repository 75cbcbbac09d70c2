import type { AuditEvent } from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/statements.js';
import type { AuditRow, DomainContext } from '../../context.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import { NO_TENANT } from '../transactions/unitOfWork.js';
import { chains } from './checkpoints.js';

const BATCH = 1_000;

interface Span {
  readonly since: Date;
  readonly until: Date;
  /** Undefined: all tenants, and rows without a tenant. */
  readonly tenantId?: string | undefined;
}

/** An audit row; `tenantId` is null if it concerns no tenant. */
export type ExportedRow = Omit<AuditEvent, 'tenantId'> & Pick<AuditRow, 'tenantId'>;

/** The audit rows of a period, of one tenant or tenant by tenant, in the order of the tenant's chain. */
export async function* readAudit(
  { db }: Pick<DomainContext, 'db'>,
  { tenantId: only, ...period }: Span,
): AsyncGenerator<ExportedRow> {
  const tenants = only === undefined ? await chains(db) : [only];
  for (const tenantId of tenants) yield* readChain(db, tenantId, period);
}

async function* readChain(db: Queries, tenantId: string, { since, until }: Span): AsyncGenerator<ExportedRow> {
  let after = 0n;
  for (;;) {
    const rows = await db.of(tenantId).rows<AuditEvent>`
      SELECT ${fieldsOf('AuditEvent', 'audit_event')} FROM audit_event
      WHERE tenant_id = ${tenantId} AND position > ${after} AND at >= ${since} AND at < ${until}
      ORDER BY position LIMIT ${BATCH}`;
    yield* rows.map((row) => ({ ...row, tenantId: tenantId === NO_TENANT ? null : tenantId }));
    const last = rows.at(-1);
    if (!last) return;
    after = last.position;
  }
}
