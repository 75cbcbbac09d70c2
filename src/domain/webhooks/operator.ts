import type { TransactionContext } from '../transactions/transaction.js';
import { disable, shown, type Endpoint } from './endpoints.js';

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
