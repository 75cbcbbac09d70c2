import { Prisma, type AuditEvent } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';

export type AuditRecord = AuditEvent;

const BATCH = 1_000;

/** All rows of the period in order. @param span.tenantId undefined: all tenants, and rows without a tenant */
export async function* readAudit(
  { db }: Pick<DomainContext, 'db'>,
  { since, until, tenantId }: { readonly since: Date; readonly until: Date; readonly tenantId?: string | undefined },
): AsyncGenerator<AuditRecord> {
  let after = 0n;
  for (;;) {
    const rows = await db.everyTenant.rows<AuditRecord>`
      SELECT position, at, tenant_id AS "tenantId", client_id AS "clientId", operator, operation_id AS "operationId",
        resource_type AS "resourceType", resource_id AS "resourceId", patient_id AS "patientId", status, code,
        request_id AS "requestId", host(ip) AS ip, outcome,
        reviewer_ref AS "reviewerRef", count
      FROM audit_event WHERE position > ${after} AND at >= ${since} AND at < ${until}
        AND ${tenantId === undefined ? Prisma.sql`true` : Prisma.sql`tenant_id = ${tenantId}`}
      ORDER BY position LIMIT ${BATCH}`;
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.position;
  }
}
