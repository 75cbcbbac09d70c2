import { Prisma, type AuditEvent } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { fieldsOf } from '../transactions/bulkSql.js';

const BATCH = 1_000;

/** All audit rows of a period, in order. @param span.tenantId undefined: all tenants, and rows without a tenant */
export async function* readAudit(
  { db }: Pick<DomainContext, 'db'>,
  { since, until, tenantId }: { readonly since: Date; readonly until: Date; readonly tenantId?: string | undefined },
): AsyncGenerator<AuditEvent> {
  let after = 0n;
  for (;;) {
    const rows = await db.everyTenant.rows<AuditEvent>`
      SELECT ${fieldsOf('AuditEvent', 'audit_event')}
      FROM audit_event WHERE position > ${after} AND at >= ${since} AND at < ${until}
        AND ${tenantId === undefined ? Prisma.sql`true` : Prisma.sql`tenant_id = ${tenantId}`}
      ORDER BY position LIMIT ${BATCH}`;
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.position;
  }
}
