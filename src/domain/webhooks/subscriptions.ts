import { Prisma } from '../../../generated/prisma/client.js';
import { visibleEvent } from '../events/visible.js';

const owner = {
  tenantId: Prisma.sql`webhook_endpoint.tenant_id`,
  apiClientId: Prisma.sql`api_client.id`,
  permissions: Prisma.sql`api_client.permissions`,
  allowedClinicIds: Prisma.sql`api_client.allowed_clinic_ids`,
  allowedPharmacyIds: Prisma.sql`api_client.allowed_pharmacy_ids`,
};

/** An SQL condition: whether the endpoints of an `api_client` receive events. */
export const mayReceive = Prisma.sql`(api_client.is_active AND 'admin:webhook' = ANY (api_client.permissions))`;

/** An SQL condition: whether an endpoint wants an event that its client may see. Pings go to one endpoint. */
export const isWanted = Prisma.sql`CASE event.type::text
  WHEN 'webhook.ping' THEN event.data->>'endpointId' = webhook_endpoint.id::text
  ELSE (cardinality(webhook_endpoint.types) = 0 OR event.type = ANY (webhook_endpoint.types))
    AND ${visibleEvent(owner, 'event')} END`;
