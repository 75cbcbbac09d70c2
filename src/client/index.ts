import type { components } from '../../generated/client/contract.js';

export { createClient, etagOf, type Client } from './client.js';
export { ApiError, type ErrorCode, type Problem } from './errors.js';
export { PatientMismatchError } from './patients.js';
export type { ItemOf, ListParameters, ListPath, PageOf } from './lists.js';
export type { ClientOptions } from './transport.js';
export type { WebhookEvent } from './webhooks.js';
export { knownValues } from '../../generated/client/values.js';
export type { components, operations, paths } from '../../generated/client/contract.js';
/** Types of the most used records; {@link components} has all others. */
export type Patient = components['schemas']['Patient'];
export type Encounter = components['schemas']['Encounter'];
export type Order = components['schemas']['Order'];
export type Product = components['schemas']['Product'];
export type Event = components['schemas']['Event'];
