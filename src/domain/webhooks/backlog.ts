import type { Queries } from '../../adapters/database/statements.js';
import { mayReceive } from './visible.js';

/** Numbers about deliveries that wait for active endpoints. */
interface Backlog {
  readonly waiting: number;
  /** For how many seconds the oldest due delivery has been due; 0 if none is due. */
  readonly oldestSeconds: number;
  /** The number of events for which deliveries have not been made yet. */
  readonly behind: number;
}

/** The backlog over all tenants. */
export async function webhookBacklog({ everyTenant }: Queries): Promise<Backlog> {
  const [behind] = await everyTenant.rows<Pick<Backlog, 'behind'>>`
    SELECT coalesce(sum(counter.position - cursor.position), 0)::float AS behind
    FROM webhook_cursor AS cursor JOIN event_counter AS counter USING (tenant_id)
    WHERE EXISTS (SELECT FROM webhook_endpoint AS active WHERE active.tenant_id = cursor.tenant_id
      AND active.status = 'active')`;
  const [waiting] = await everyTenant.rows<Omit<Backlog, 'behind'>>`
    SELECT count(*)::int AS waiting,
      greatest(coalesce(extract(epoch FROM max(now() + clock_offset_ms * interval '1 ms' - next_attempt_at)), 0), 0)::float
        AS "oldestSeconds"
    FROM webhook_delivery AS delivery
    JOIN webhook_endpoint AS endpoint ON endpoint.tenant_id = delivery.tenant_id AND endpoint.id = endpoint_id
      AND endpoint.status = 'active'
    JOIN tenant ON tenant.id = delivery.tenant_id AND tenant.is_active
    JOIN api_client ON api_client.tenant_id = delivery.tenant_id AND api_client.id = api_client_id AND ${mayReceive}
    WHERE delivery.status = 'waiting'`;
  return { waiting: 0, oldestSeconds: 0, behind: 0, ...waiting, ...behind };
}
