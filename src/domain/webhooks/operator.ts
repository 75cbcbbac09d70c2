import type { QueryContext, TransactionContext } from '../transactions/transaction.js';
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

/** Reads and locks an endpoint, so that concurrent commands run one after the other. */
async function endpointOf({ db }: TransactionContext, tenantId: string, id: string): Promise<Endpoint> {
  const [endpoint] = await db.of(tenantId).rows<Endpoint>`
    SELECT ${shown} FROM webhook_endpoint WHERE tenant_id = ${tenantId} AND id = ${id}::uuid FOR NO KEY UPDATE`;
  if (!endpoint) throw new Error(`The tenant ${tenantId} has no webhook endpoint ${id}: see "webhook list".`);
  return endpoint;
}
