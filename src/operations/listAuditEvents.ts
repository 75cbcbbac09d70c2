import type { Operation } from './operation.js';
import { listAudit } from '../domain/audit/list.js';
import { auditView } from '../views/auditView.js';

/** GET /audit-events: accesses and changes in the tenant. */
export const listAuditEvents: Operation<'listAuditEvents'> = async ({ query }, context) => {
  const { rows, nextCursor, hasMore } = await listAudit(context, query);
  return { status: 200, body: { data: rows.map(auditView), next_cursor: nextCursor, has_more: hasMore } };
};
