import { setTimeout as delay } from 'node:timers/promises';
import type { Sent } from '../../adapters/webhooks/sender.js';
import type { DomainContext } from '../../context.js';

/** Messages that an inbox keeps. */
const MOST_MESSAGES = 100;
/** Milliseconds that any receiver has to respond. */
const TIMEOUT = 15_000;

/** The built-in receiver of a sandbox: it keeps what it gets, and responds as the partner wants it to. */
export async function receive(
  { db, now, newId }: DomainContext,
  { tenantId, id: endpointId }: { readonly tenantId: string; readonly id: string },
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Sent> {
  const { status, delayMs } = (await db.webhookInbox.findUnique({ where: { tenantId } })) ?? {
    status: 204,
    delayMs: 0,
  };
  const message = { id: newId(), tenantId, endpointId, headers, body, status, receivedAt: now() };
  await db.webhookInboxMessage.create({ data: message });
  await db.$executeRaw`
    DELETE FROM webhook_inbox_message WHERE tenant_id = ${tenantId} AND id IN (SELECT id FROM webhook_inbox_message
      WHERE tenant_id = ${tenantId} ORDER BY id DESC OFFSET ${MOST_MESSAGES} FOR UPDATE SKIP LOCKED)`;
  await delay(Math.min(delayMs, TIMEOUT));
  return delayMs >= TIMEOUT ? { error: 'timeout' } : { status, retryAfter: null };
}
