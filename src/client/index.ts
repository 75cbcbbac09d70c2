export { createClient, type Client, type Result } from './client.js';
export { ApiError, type Problem } from './errors.js';
export type { ItemOf, ListPath, QueryOf } from './lists.js';
export type { ClientOptions } from './transport.js';
export { verifyWebhook, WebhookError, type WebhookEvent } from './webhooks.js';
export { knownValues } from '../../generated/client/values.js';
export type { components, operations, paths } from '../../generated/client/contract.js';
