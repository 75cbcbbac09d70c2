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
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    status: delivery.status,
    createdAt: delivery.createdAt.toISOString(),
    nextAttemptAt: timestamp(delivery.nextAttemptAt),
    attempts: delivery.attempts,
  };
}

export function inboxMessageView(message: WebhookInboxMessage): Schemas['WebhookInboxMessage'] {
  return {
    id: message.id,
    endpointId: message.endpointId,
    headers: message.headers as Schemas['WebhookInboxMessage']['headers'],
    body: message.body,
    status: message.status,
    receivedAt: message.receivedAt.toISOString(),
  };
}

export function inboxBehaviorView({ status, delayMs }: WebhookInbox): Schemas['WebhookInboxBehavior'] {
  return { status, delayMs };
}
