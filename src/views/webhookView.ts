import type { WebhookInbox, WebhookInboxMessage } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';
import type { Delivery } from '../domain/webhooks/deliveries.js';
import type { Endpoint } from '../domain/webhooks/endpoints.js';
import { timestamp } from './values.js';

export function webhookEndpointView(endpoint: Endpoint): Schemas['WebhookEndpoint'] {
  const { id, url, types, description, status, disabledReason } = endpoint;
  const shown = { id, url, types, description, status, disabledReason };
  return Object.assign(shown, {
    lastSuccessAt: timestamp(endpoint.lastSuccessAt),
    lastFailureAt: timestamp(endpoint.lastFailureAt),
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  });
}

export function webhookDeliveryView(delivery: Delivery): Schemas['WebhookDelivery'] {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    status: delivery.status,
    created_at: delivery.createdAt.toISOString(),
    next_attempt_at: timestamp(delivery.nextAttemptAt),
    attempts: delivery.attempts,
  };
}

export function inboxMessageView(message: WebhookInboxMessage): Schemas['WebhookInboxMessage'] {
  return {
    id: message.id,
    endpoint_id: message.endpointId,
    headers: message.headers as Schemas['WebhookInboxMessage']['headers'],
    body: message.body,
    status: message.status,
    received_at: message.receivedAt.toISOString(),
  };
}

export function inboxBehaviorView({ status, delayMs }: WebhookInbox): Schemas['WebhookInboxBehavior'] {
  return { status, delay_ms: delayMs };
}
