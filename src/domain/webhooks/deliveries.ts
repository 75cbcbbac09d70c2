import { Prisma, type WebhookDelivery } from '../../../generated/prisma/client.js';
import type { Bodies, EventType, Input, Schemas } from '../../contract.js';
import { fieldProblem, Problem } from '../../problem.js';
import type { CallerContext, ModelContext, TransactionContext } from '../transactions/transaction.js';
import { comparableInstant } from '../transactions/instant.js';
import { keyOf, listCursor, listPage, type ListPage } from '../transactions/listCursor.js';
import { onlyUuid } from '../transactions/uuid.js';
import { getEndpoint, requireActive, typeOf } from './endpoints.js';
import { isWanted } from './visible.js';

/** A delivery: one event on its way to one endpoint. */
export interface Delivery extends Pick<WebhookDelivery, 'id' | 'eventId' | 'status' | 'createdAt' | 'nextAttemptAt'> {
  readonly eventType: EventType;
  /** The latest attempts, oldest first, in the form of the contract. */
  readonly attempts: Schemas['WebhookAttempt'][];
}

/** Maximum of events in the period of a replay; more could exceed the statement timeout. */
export const MAX_REPLAYED = 10_000;

/** The columns of a {@link Delivery}. */
const shown = Prisma.sql`delivery.id, delivery.event_id AS "eventId", event.type::text AS "eventType",
  delivery.status::text AS status, delivery.created_at AS "createdAt", delivery.next_attempt_at AS "nextAttemptAt",
  delivery.attempts`;

/** The deliveries of an endpoint, the newest first. @throws Problem webhook_endpoint_not_found, cursor_invalid */
export async function listDeliveries(
  context: ModelContext,
  endpointId: string,
  { status, cursor, limit }: Input<'listWebhookDeliveries'>['query'],
): Promise<ListPage<Delivery>> {
  const { id } = await getEndpoint(context, endpointId);
  const found = await context.db.prisma.webhookDelivery.findMany({
    where: {
      tenantId: context.caller.tenantId,
      endpointId: id,
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { id: { lt: keyOf(cursor, onlyUuid) } }),
    },
    include: { event: { select: { type: true } } },
    orderBy: { id: 'desc' },
    take: limit + 1,
  });
  const deliveries = found.map(({ attempts, event, ...delivery }) => ({
    ...delivery,
    eventType: typeOf(event.type),
    attempts: attempts as Delivery['attempts'],
  }));
  return listPage<Delivery>(deliveries, limit, (delivery) => listCursor(delivery.id));
}

/**
 * Sends a delivery again, even a successful one. @throws Problem as {@link requireActive}, delivery_not_found
 */
export async function retryDelivery(context: CallerContext, endpointId: string, deliveryId: string): Promise<Delivery> {
  const { tenantId } = context.caller;
  const { id } = await requireActive(context, endpointId);
  const [delivery] = await context.db.of(tenantId).rows<Delivery>`
    WITH delivery AS (
      UPDATE webhook_delivery SET ${again(context)}
      WHERE tenant_id = ${tenantId} AND endpoint_id = ${id}::uuid AND id = ${deliveryId}::uuid RETURNING *
    )
    SELECT ${shown} FROM delivery JOIN event ON event.tenant_id = ${tenantId} AND event.id = delivery.event_id`;
  if (!delivery) throw new Problem('delivery_not_found');
  return delivery;
}

/**
 * Sends the events of a period again that the endpoint receives, even delivered ones. @returns their number
 * @throws Problem as {@link requireActive}; validation_failed for too many
 */
export async function replayEvents(
  context: CallerContext,
  endpointId: string,
  { after, before }: Bodies['ReplayWebhookEventsRequest'],
): Promise<number> {
  const { db, newId, caller } = context;
  const { tenantId } = caller;
  const { id } = await requireActive(context, endpointId);
  const end = before === undefined ? null : comparableInstant(before);
  const found = await db.of(tenantId).rows<{ id: string; isWanted: boolean }>`
    SELECT event.id, ${isWanted(tenantId)} AS "isWanted" FROM event
    JOIN webhook_endpoint ON webhook_endpoint.tenant_id = event.tenant_id AND webhook_endpoint.id = ${id}::uuid
    JOIN api_client ON api_client.tenant_id = event.tenant_id AND api_client.id = webhook_endpoint.api_client_id
    WHERE event.tenant_id = ${tenantId} AND event.timestamp > ${comparableInstant(after)}
      AND (${end}::timestamptz IS NULL OR event.timestamp < ${end}::timestamptz)
    ORDER BY event.position LIMIT ${MAX_REPLAYED + 1}`;
  if (found.length > MAX_REPLAYED) {
    const detail = `starts a period with more than ${MAX_REPLAYED} events; choose a shorter period`;
    throw fieldProblem('validation_failed', '#/after', detail, 'range');
  }
  const eventIds = found.flatMap((event) => (event.isWanted ? event.id : []));
  return db.of(tenantId).run`
    INSERT INTO webhook_delivery (id, tenant_id, endpoint_id, event_id, next_attempt_at, created_at)
    SELECT new.id, ${tenantId}, ${id}::uuid, new.event_id, ${context.now()}::timestamptz, ${context.now()}::timestamptz
    FROM unnest(${eventIds.map(() => newId())}::uuid[], ${eventIds}::uuid[]) AS new (id, event_id)
    ON CONFLICT (tenant_id, event_id, endpoint_id)
      DO UPDATE SET status = 'waiting', failures = 0, next_attempt_at = excluded.next_attempt_at`;
}

/** Column values that restart a delivery's retries, with an attempt now. */
const again = ({ now }: Pick<TransactionContext, 'now'>): Prisma.Sql =>
  Prisma.sql`status = 'waiting', failures = 0, next_attempt_at = ${now()}`;
