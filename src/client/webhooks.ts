import type { components } from '../../generated/client/contract.js';

/** The body of a webhook. Verify it with a library of Standard Webhooks, such as `standardwebhooks`. */
export type WebhookEvent = WithoutId<components['schemas']['Event']>;
/** Omits the id from each type of event, so that `type` still determines `data`. */
type WithoutId<Event> = Event extends unknown ? Omit<Event, 'id'> : never;
