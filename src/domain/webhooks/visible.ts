import { Prisma } from '../../../generated/prisma/client.js';
import type { Caller } from '../../context.js';
import type { Permission } from '../../contract.js';
import { within, type Viewer } from '../access/limits.js';
import { visiblePatient } from '../patients/visibility.js';

/** The permission to read the subject of an event, by the first word of its type. */
const permissionFor = {
  patient: 'read:client',
  document: 'read:document',
  encounter: 'read:encounter',
  gfe: 'read:encounter',
  order: 'read:order',
  webhook: 'admin:webhook',
} as const satisfies Record<string, Permission>;

/** A viewer with everything that decides which events it sees. */
export interface EventViewer extends Viewer {
  readonly permissions: Prisma.Sql;
  /** Null = every pharmacy; as an SQL expression, an empty array. */
  readonly allowedPharmacyIds: readonly string[] | null | Prisma.Sql;
}

/** The client of a request as a viewer of events. */
export const eventViewer = (
  caller: Pick<Caller, 'permissions' | keyof Viewer | 'allowedPharmacyIds'>,
): EventViewer => ({
  ...caller,
  permissions: Prisma.sql`${[...caller.permissions]}::text[]`,
});

/** Whether a client sees all events but those of other clients' webhook endpoints. */
export const seesMostEvents = ({ permissions, allowedClinicIds, allowedPharmacyIds }: Caller): boolean =>
  allowedClinicIds === null &&
  allowedPharmacyIds === null &&
  Object.values(permissionFor).every((permission) => permissions.has(permission));

/**
 * An SQL condition: whether a viewer may see a row of `event`, in the feed and by a webhook. The viewer needs
 * the permission to read the event's subject. A clinic limit hides events of other clinics and patients, a pharmacy
 * limit those of orders without a line of its pharmacies. Events of a webhook endpoint are for its own client only.
 * @param alias alias of the row
 */
export function visibleEvent(viewer: EventViewer, alias: string): Prisma.Sql {
  const { tenantId, apiClientId, permissions } = viewer;
  const event = Prisma.raw(alias);
  const cases = Object.entries(permissionFor).map(([subject, needed]) => Prisma.sql`WHEN ${subject} THEN ${needed}`);
  const ofClinics = within(
    viewer.allowedClinicIds,
    (clinics) => Prisma.sql`(${event}.clinic_id = ANY (${clinics}) OR ${event}.api_client_id IS NOT NULL
      OR EXISTS (SELECT FROM client WHERE client.tenant_id = ${tenantId}
        AND client.id = (${event}.data->>'user_id')::uuid AND ${visiblePatient(viewer, 'client')}))`,
  );
  const ofPharmacies = within(
    viewer.allowedPharmacyIds,
    (pharmacies) => Prisma.sql`(${event}.pharmacy_ids = '{}' OR ${event}.pharmacy_ids && ${pharmacies})`,
  );
  return Prisma.sql`(CASE split_part(${event}.type::text, '.', 1) ${Prisma.join(cases, ' ')} END = ANY (${permissions})
    AND (${event}.api_client_id IS NULL OR ${event}.api_client_id = ${apiClientId}::uuid)
    AND ${ofClinics} AND ${ofPharmacies})`;
}

const owner = {
  apiClientId: Prisma.sql`api_client.id`,
  permissions: Prisma.sql`api_client.permissions`,
  allowedClinicIds: Prisma.sql`api_client.allowed_clinic_ids`,
  allowedPharmacyIds: Prisma.sql`api_client.allowed_pharmacy_ids`,
};

/** An SQL condition: whether the endpoints of an `api_client` receive events. */
export const mayReceive = Prisma.sql`(api_client.is_active AND 'admin:webhook' = ANY (api_client.permissions))`;

/** An SQL condition: whether the `api_client` of an endpoint may see an `event`. */
export const isVisible = (tenantId: string): Prisma.Sql => visibleEvent({ ...owner, tenantId }, 'event');

/** An SQL condition: whether an endpoint wants an event that its client may see. Pings go to one endpoint. */
export const isWanted = (tenantId: string): Prisma.Sql => Prisma.sql`CASE event.type::text
  WHEN 'webhook.ping' THEN event.data->>'endpointId' = webhook_endpoint.id::text
  ELSE (cardinality(webhook_endpoint.types) = 0 OR event.type = ANY (webhook_endpoint.types))
    AND ${isVisible(tenantId)} END`;
