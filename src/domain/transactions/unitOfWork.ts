import type { EventDataOf, EventType } from '../../contract.js';
import { Prisma } from '../../../generated/prisma/client.js';
import type { AuditRow } from '../../context.js';
import { metrics } from '../../telemetry.js';
import { insertion, named, recordset, withParts } from './bulkSql.js';

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

/**
 * The statement that writes a transaction's events, with the next positions of their tenants, and its audit
 * rows. It must be the last: it locks the tenant's counter until the commit, so that positions follow the order of
 * commits, and a transaction that waits for the counter already has all its other locks. Counters of several tenants
 * are locked in tenant order.
 * @returns null if there is nothing to write
 */
export function unitOfWorkStatement({ events, audited, changes }: UnitOfWork): Prisma.Sql | null {
  for (const { type } of events) metrics?.events.inc({ type });
  const others = audited.length > 0 ? [...changes, insertion('audit_event', audited)] : changes;
  if (events.length > 0) return eventInsertion(events, others);
  const [first, ...rest] = others;
  if (!first) return null;
  return withParts(rest, first);
}

function eventInsertion(events: readonly NewEvent[], others: readonly Prisma.Sql[]): Prisma.Sql {
  const rows = events.map((event, position) => ({ position, ...event }));
  const parts = others.length > 0 ? Prisma.sql`${named(others)},` : Prisma.empty;
  return Prisma.sql`
    WITH ${parts} collected AS (
      SELECT *, row_number() OVER (PARTITION BY tenant_id ORDER BY position) AS number FROM ${recordset('event', rows)}
    ), counter AS (
      INSERT INTO event_counter AS counter (tenant_id, position)
      SELECT tenant_id, count(*) FROM collected GROUP BY tenant_id ORDER BY tenant_id
      ON CONFLICT (tenant_id) DO UPDATE SET position = counter.position + excluded.position
      RETURNING tenant_id, position
    )
    INSERT INTO event (id, tenant_id, position, type, clinic_id, pharmacy_ids, api_client_id, data, timestamp)
    SELECT id, tenant_id, counter.position - count(*) OVER (PARTITION BY tenant_id) + number,
      type, clinic_id, pharmacy_ids, api_client_id, data, timestamp
    FROM collected JOIN counter USING (tenant_id)`;
}
