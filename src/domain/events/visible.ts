import { Prisma } from '../../../generated/prisma/client.js';
import { visiblePatient, withinClinics, type Viewer } from '../access/visibility.js';

/**
 * An SQL condition: whether a viewer may see a row of `event`, in the feed and by a webhook. A client that is limited
 * to clinics sees events of these clinics, of the patients that it may see, and of its own webhook endpoints.
 * @param alias alias of the row
 */
export function visibleEvent(viewer: Viewer, alias: string): Prisma.Sql {
  const { tenantId, apiClientId } = viewer;
  const event = Prisma.raw(alias);
  return withinClinics(
    viewer,
    (clinics) => Prisma.sql`(${event}.clinic_id = ANY (${clinics})
      OR EXISTS (SELECT FROM client WHERE client.tenant_id = ${tenantId}
        AND client.id = (${event}.data->>'user_id')::uuid AND ${visiblePatient(viewer, 'client')})
      OR EXISTS (SELECT FROM webhook_endpoint AS own WHERE own.tenant_id = ${tenantId}
        AND own.id = (${event}.data->>'endpoint_id')::uuid AND own.api_client_id = ${apiClientId}::uuid))`,
  );
}
