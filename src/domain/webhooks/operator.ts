import type { QueryContext, TransactionContext } from '../transactions/transaction.js';
import { MAX_REPLAYED, replay, type ReplayedTime } from './deliveries.js';
import { disable, shown, type Endpoint } from './endpoints.js';

/** An endpoint with the id of the API client that owns it. */
interface OwnedEndpoint extends Endpoint {
  /** OAuth `client_id`. */
  readonly clientId: string;
}

/** All endpoints of a tenant, oldest first, for the operator. */
export function listEndpointsOf({ db }: QueryContext, tenantId: string): Promise<OwnedEndpoint[]> {
  return db.of(tenantId).rows<OwnedEndpoint>`
    SELECT ${shown}, api_client.client_id AS "clientId" FROM webhook_endpoint
    JOIN api_client ON api_client.tenant_id = webhook_endpoint.tenant_id AND api_client.id = api_client_id
    WHERE webhook_endpoint.tenant_id = ${tenantId} ORDER BY webhook_endpoint.id`;
}

/** Disables an endpoint and records that, unless it is disabled already. @throws Error if there is none */
export async function disableEndpointOf(context: TransactionContext, tenantId: string, id: string): Promise<void> {
  const { disabledReason } = await endpointOf(context, tenantId, id);
  if (disabledReason === null) await disable(context, { tenantId, id }, 'operator');
}

/**
 * Sends a period's events again. @returns how many. @throws Error for a missing or disabled endpoint, or too
 * many
 */
export async function replayOf(
  context: TransactionContext,
  tenantId: string,
  id: string,
  time: ReplayedTime,
): Promise<number> {
  const { status } = await endpointOf(context, tenantId, id);
  if (status !== 'active')
    throw new Error(`The webhook endpoint ${id} is ${status}. Enable it first: see "webhook enable".`);
  const replayed = await replay(context, { tenantId, id }, time);
  if (replayed !== null) return replayed;
  throw new Error(`More than ${MAX_REPLAYED} events occurred in this period. Choose a shorter one.`);
}

/** Reads and locks an endpoint, so that concurrent commands run one after the other. */
async function endpointOf({ db }: TransactionContext, tenantId: string, id: string): Promise<Endpoint> {
  const [endpoint] = await db.of(tenantId).rows<Endpoint>`
    SELECT ${shown} FROM webhook_endpoint WHERE tenant_id = ${tenantId} AND id = ${id}::uuid FOR NO KEY UPDATE`;
  if (!endpoint) throw new Error(`The tenant ${tenantId} has no webhook endpoint ${id}: see "webhook list".`);
  return endpoint;
}
