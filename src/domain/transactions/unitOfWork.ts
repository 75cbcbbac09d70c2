import type { EventDataOf, EventType } from '../../contract.js';
import { Prisma } from '../../../generated/prisma/client.js';
import type { AuditRow } from '../../context.js';
import { metrics } from '../../telemetry.js';
import type { Writes } from '../../adapters/database/statements.js';
import { columnList, named, recordset, withParts } from './bulkSql.js';

/** An event that a transaction will write at its end. */
export interface NewEvent {
  readonly id: string;
  readonly tenantId: string;
  /** Null if the event belongs to a patient, whose id is `user_id` in `data`. */
  readonly clinicId: string | null;
  /** The pharmacies of an order's lines; empty if the event is about none. */
  readonly pharmacyIds: readonly string[];
  /** The only client that sees the event; null = every client that may read its subject. */
  readonly apiClientId: string | null;
  readonly type: EventType;
  readonly data: EventDataOf<EventType>;
  readonly timestamp: Date;
}

/** Rows that a transaction writes by its last statement. */
export interface UnitOfWork {
  readonly events: NewEvent[];
  readonly audited: AuditRow[];
  /** Statements that never wait for a lock: they change locked rows, or insert rows that refer to locked ones. */
  readonly changes: Prisma.Sql[];
}

/** Takes the place of a tenant in the audit of commands that concern none; no id of a tenant looks like this. */
export const NO_TENANT = '-';

/**
 * What writes a transaction's events and audit rows, with the next positions of their tenant. It must be the
 * last: it locks the tenant's counters until the commit, so that positions have no gaps and follow the order of commits, and
 * a transaction that waits for a counter already has all its other locks.
 * @returns null if there is nothing to write
 */
export function unitOfWrites({ events, audited, changes }: UnitOfWork): Writes | null {
  for (const { type } of events) metrics?.events.inc({ type });
  if (events.length + audited.length + changes.length === 0) return null;
  const tenants = new Set([...events, ...audited].map(chainOf));
  if (tenants.size > 1) throw new Error('a transaction writes events and audit rows of one tenant');
  const [tenantId = ''] = tenants;
  const numbered = [
    ...(events.length > 0 ? [numberedRows('event', tenantId, events)] : []),
    ...(audited.length > 0 ? [numberedRows('audit', tenantId, audited)] : []),
  ];
  return {
    combined() {
      const [last, ...others] = [...numbered.map(({ insertion }) => insertion('counted')), ...changes];
      if (!last || numbered.length === 0) return withParts(others, last ?? Prisma.empty);
      const counted = numbered.map(({ counted, count }) => Prisma.sql`${counted} AS (${count})`);
      const parts = others.length > 0 ? Prisma.sql`, ${named(others)}` : Prisma.empty;
      return Prisma.sql`WITH ${Prisma.join(counted)}${parts} ${last}`;
    },
    apart: () => [
      ...changes,
      ...numbered.map(({ count }) => count),
      ...numbered.map(({ insertion }) => insertion('stored')),
    ],
  };
}

/** Whose positions a row has. */
const chainOf = ({ tenantId }: Pick<AuditRow, 'tenantId'>): string => tenantId ?? NO_TENANT;

/** Takes the next positions of a tenant, and inserts rows with them. */
function numberedRows(kind: 'event' | 'audit', tenantId: string, rows: readonly object[]) {
  const [table, counter] = [kind === 'event' ? 'event' : 'audit_event', Prisma.raw(`${kind}_counter`)];
  const counted = Prisma.raw(`counted_${kind}`);
  const count = Prisma.sql`
    INSERT INTO ${counter} AS counter (tenant_id, position) VALUES (${tenantId}, ${rows.length})
    ON CONFLICT (tenant_id) DO UPDATE SET position = counter.position + excluded.position
    RETURNING tenant_id, position - ${rows.length} AS start`;
  const stored = Prisma.sql`(SELECT tenant_id, position - ${rows.length} AS start FROM ${counter}
    WHERE tenant_id = ${tenantId})`;
  const numbered = rows.map((row, index) => ({ ...row, position: index + 1 }));
  const columns = columnList(numbered, ['tenant_id', 'position']);
  /** @param source of the positions: the combined statement's part that counts, or the row that an earlier one has changed */
  const insertion = (source: 'counted' | 'stored'): Prisma.Sql => Prisma.sql`
    INSERT INTO ${Prisma.raw(table)} (tenant_id, position, ${columns})
    SELECT counted.tenant_id, counted.start + position, ${columns}
    FROM ${source === 'stored' ? stored : counted} AS counted, ${recordset(table, numbered)}`;
  return { counted, count, insertion };
}
