import { createHmac } from 'node:crypto';

export const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:/i.test(url);

/** Milliseconds that a receiver has to respond, as for the webhooks of the service. */
const TIMEOUT = 15_000;

export const keyOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');

/** The headers of Standard Webhooks 1.0, with one signature per key. */
export function signedHeaders(
  keys: readonly Buffer[],
  id: string,
  body: string,
  at = Date.now(),
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000));
  const sign = (key: Buffer): string =>
    `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': keys.map(sign).join(' ') };
}

/** The message of an error; its code if that is empty, as after refused connections to several addresses. */
export const reasonOf = (error: Error): string => error.message || String((error as NodeJS.ErrnoException).code);

/** Sends a body to a receiver. @returns the status of the response, or the reason why there is none */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<number | string> {
  const all = { 'Content-Type': 'application/json', ...headers };
  const signal = AbortSignal.timeout(TIMEOUT);
  try {
    const response = await fetch(url, { method: 'POST', headers: all, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? reasonOf(cause) : message;
  }
}
