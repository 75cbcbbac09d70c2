import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Query, Sample } from './operations.js';

/** Takes positions from a tenant's counter; `start` is the position before the first taken one. */
const countOf = (counter: string, tenant: string, count: string): string => `${counter} AS (
    INSERT INTO ${counter} AS c (tenant_id, position) VALUES (${tenant}, ${count})
    ON CONFLICT (tenant_id) DO UPDATE SET position = c.position + ${count} RETURNING position - ${count} AS start
  )`;
/** Inserts audit rows of a tenant. @param numbers SQL for the numbers from 1 on, one for each row */
const auditOf = (
  tenant: string,
  numbers: string,
): string => `INSERT INTO audit_event (position, at, tenant_id, client_id,
    operation_id, resource_type, status, request_id, ip, outcome)
  SELECT start + n, now(), ${tenant}, 'ces_bench', 'bench', 'patient', 200, gen_random_uuid(), '127.0.0.1', 'success'
  FROM audit_counter, ${numbers} AS number (n)`;

/** Creates the audit of reads: one statement for all reads of a tenant in a turn of the event loop. Each read waits for it. */
export function readRecorder(query: Query): (sample: Sample) => Promise<unknown> {
  let waiting: string[] = [];
  let written: Promise<unknown> | undefined;
  const write = async (): Promise<unknown> => {
    await nextTurn();
    const tenants = new Map<string, number>();
    for (const tenant of waiting) tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
    [waiting, written] = [[], undefined];
    const statement = `WITH ${countOf('audit_counter', '$1', '$2::int')} ${auditOf('$1', 'generate_series(1, $2::int)')}`;
    return Promise.all([...tenants].map((tenant) => query(statement, tenant)));
  };
  return ({ tenantId }) => {
    waiting.push(tenantId);
    return (written ??= write());
  };
}

/** SQL that writes an event of tenant $2, at the counter's next position, and its audit row. */
export const eventOf = (
  values: string,
): string => `${countOf('event_counter', '$2', '1')}, ${countOf('audit_counter', '$2', '1')}, event AS (
    INSERT INTO event (id, tenant_id, position, clinic_id, type, data, timestamp)
    SELECT ${values} FROM (SELECT start + 1 AS position FROM event_counter) AS counter
  ), audit AS (${auditOf('$2', '(VALUES (1))')})`;
