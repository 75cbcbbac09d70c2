import type { components } from '../../generated/client/contract.js';

/** An event as a webhook brings it. */
export type WebhookEvent = WithoutId<components['schemas']['Event']>;
/** Of each type of event apart, so that `type` says which `data` it is. */
type WithoutId<Event> = Event extends unknown ? Omit<Event, 'id'> : never;

/** Seconds that a webhook may be old, or ahead of our clock. */
const TOLERANCE = 300;

/** The webhook is not from the service, or too old. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/**
 * Checks the signature of a webhook (Standard Webhooks 1.0).
 * @param secret of the endpoint, `whsec_…`
 * @param headers of the request
 * @param body of the request, byte for byte: its bytes (a `Buffer` is one form), or their text
 * @returns the event, and its id: the same in every attempt, so keep the ids that you have worked off
 * @throws WebhookError
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string | Uint8Array,
): Promise<{ readonly id: string; readonly event: WebhookEvent }> {
  const get = (name: string): string => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? '');
  const [id, timestamp, signatures] = [get('webhook-id'), get('webhook-timestamp'), get('webhook-signature')];
  const age = Date.now() / 1000 - Number(timestamp || NaN);
  if (!(Math.abs(age) <= TOLERANCE)) throw new WebhookError('The webhook is too old, or has no time.');
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const raw = bytesOf(secret.replace(/^whsec_/, ''));
  const key = await crypto.subtle.importKey('raw', raw, algorithm, false, ['verify']);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const one of signatures.split(' ')) {
    const [version, signature = ''] = one.split(',');
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed))) {
      return { id, event: JSON.parse(text) as WebhookEvent };
    }
  }
  throw new WebhookError('No signature of the webhook is by this secret.');
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
