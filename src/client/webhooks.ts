import type { components } from '../../generated/client/contract.js';

/** An event in a webhook. */
export type WebhookEvent = WithoutId<components['schemas']['Event']>;
/** Omits the id from each type of event, so that `type` still determines `data`. */
type WithoutId<Event> = Event extends unknown ? Omit<Event, 'id'> : never;

/** Maximum age of a webhook in seconds. */
const TOLERANCE = 300;

/** A webhook that is too old or not from the service. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/**
 * Verifies the signature of a webhook (Standard Webhooks 1.0).
 * @param secret the endpoint's secret, `whsec_…`
 * @param headers the request's headers
 * @param body the request's body, unchanged: its bytes (for example a `Buffer`), or their text
 * @returns the event and its id, which is equal in all attempts: store the ids of processed events
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
  if (!(Math.abs(age) <= TOLERANCE))
    throw new WebhookError('The timestamp of the webhook is missing, or differs too much from the local clock.');
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
  throw new WebhookError('The webhook was not signed with this secret. Check the secret, and verify the raw body.');
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
