import { createHmac } from 'node:crypto';

/** The headers of Standard Webhooks 1.0, one signature per secret. @param at real time: receivers refuse old times */
export function signedHeaders(secrets: readonly Uint8Array[], id: string, at: Date, body: string) {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const sign = (secret: Uint8Array): string =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': secrets.map(sign).join(' ') };
}
