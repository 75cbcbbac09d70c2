import { Prisma } from '../../../generated/prisma/client.js';
import { visibleEvent } from '../events/visible.js';

const owner = {
  tenantId: Prisma.sql`webhook_endpoint.tenant_id`,
  apiClientId: Prisma.sql`api_client.id`,
  allowedClinicIds: Prisma.sql`api_client.allowed_clinic_ids`,
};

/** The condition on a row of `api_client` that its endpoints receive events (D-150). */
export const mayReceive = Prisma.sql`(api_client.is_active AND 'admin:webhook' = ANY (api_client.permissions))`;

/**
 * The condition on rows of `event`, `webhook_endpoint` and `api_client` that the endpoint subscribes to the type of the event
 * and its API client may see it. A ping goes to its own endpoint only, even without a subscription.
 */
export const isWanted = Prisma.sql`CASE event.type::text
  WHEN 'webhook.ping' THEN event.data->>'endpoint_id' = webhook_endpoint.id::text
  ELSE (cardinality(webhook_endpoint.types) = 0 OR event.type = ANY (webhook_endpoint.types))
    AND ${visibleEvent(owner, 'event')} END`;
