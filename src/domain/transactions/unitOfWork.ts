import type { EventDataOf, EventType } from '../../contract.js';
import { Prisma } from '../../../generated/prisma/client.js';
import type { AuditRow } from '../../context.js';
import { metrics } from '../../telemetry.js';
import { columnList, named, recordset, withParts } from './bulkSql.js';

/** An event that a transaction will write at its end. */
export interface NewEvent {
  readonly id: string;
  readonly tenantId: string;
  /** Null if the event is about a patient or document (`user_id` in `data`), or about a webhook endpoint. */
  readonly clinicId: string | null;
  /** The pharmacies of an order's lines; empty if the event is not about an order. */
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
 * The statement of a transaction's changes, events and audit rows, with the next positions of their tenant.
 * It must be the last: it locks the tenant's counters until the commit, so that positions have no gaps and follow the order
 * of commits, and a transaction that waits for a counter already has all its other locks.
 * @returns null if there is nothing to write
 */
export function unitOfWorkStatement({ events, audited, changes }: UnitOfWork): Prisma.Sql | null {
  for (const { type } of events) metrics?.events.inc({ type });
  const tenants = new Set([...events, ...audited].map(chainOf));
  if (tenants.size > 1)
    throw new Error(
      'a transaction has events or audit rows of several tenants, or of one and of none: use a transaction for each',
    );
  const [tenantId = ''] = tenants;
  const counters = [
    ...(events.length > 0 ? [counting('event_counter', tenantId, events.length)] : []),
    ...(audited.length > 0 ? [counting('audit_counter', tenantId, audited.length)] : []),
  ];
  const insertions = [
    ...(events.length > 0 ? [eventInsertion(events)] : []),
    ...(audited.length > 0 ? [auditInsertion(audited)] : []),
  ];
  const [last, ...others] = [...insertions, ...changes];
  if (!last || counters.length === 0) return last ? withParts(others, last) : null;
  const parts = others.length > 0 ? Prisma.sql`, ${named(others)}` : Prisma.empty;
  return Prisma.sql`WITH ${Prisma.join(counters)}${parts} ${last}`;
}

/** The tenant in whose chain an audit row is counted. */
const chainOf = ({ tenantId }: Pick<AuditRow, 'tenantId'>): string => tenantId ?? NO_TENANT;

/** The CTE that reserves a tenant's next `count` positions; its `start` is the last position already in use. */
function counting(counter: 'event_counter' | 'audit_counter', tenantId: string, count: number): Prisma.Sql {
  const part = Prisma.raw(counter === 'event_counter' ? 'counted_event' : 'counted_audit');
  return Prisma.sql`${part} AS (
    INSERT INTO ${Prisma.raw(counter)} AS counter (tenant_id, position) VALUES (${tenantId}, ${count})
    ON CONFLICT (tenant_id) DO UPDATE SET position = counter.position + excluded.position
    RETURNING position - ${count} AS start)`;
}

function auditInsertion(audited: readonly AuditRow[]): Prisma.Sql {
  const rows = audited.map((row, index) => ({ position: index + 1, ...row, tenantId: chainOf(row) }));
  const columns = columnList(rows, ['position']);
  return Prisma.sql`
    INSERT INTO audit_event (position, ${columns})
    SELECT start + position, ${columns} FROM ${recordset('audit_event', rows)}, counted_audit`;
}

function eventInsertion(events: readonly NewEvent[]): Prisma.Sql {
  const rows = events.map((event, index) => ({ position: index + 1, ...event }));
  const columns = columnList(rows, ['position']);
  return Prisma.sql`
    INSERT INTO event (position, ${columns})
    SELECT start + position, ${columns} FROM ${recordset('event', rows)}, counted_event`;
}
