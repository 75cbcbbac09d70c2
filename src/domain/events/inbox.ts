import { setTimeout as delay } from 'node:timers/promises';
import type { Sent } from '../../adapters/webhooks/sender.js';
import type { Caller, DomainContext } from '../../context.js';
import { ATTEMPT_TIMEOUT } from './webhookRetries.js';

/** Messages that an inbox keeps. */
export const INBOX_MESSAGES = 100;

/** Whether a URL is a sandbox's own receiver, where no rule for addresses counts: all stays in the service. */
export function isInbox(url: string, baseUrl: string, tenantMode: Caller['tenantMode']): boolean {
  return tenantMode === 'sandbox' && url === `${baseUrl}/sandbox/webhook-inbox`;
}

/** The built-in receiver of a sandbox: it keeps what it gets, and responds as the partner wants it to. */
export async function receive(
  { db, now, newId }: DomainContext,
  { tenantId, id: endpointId }: { readonly tenantId: string; readonly id: string },
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Sent> {
  const behavior = await db.prisma.webhookInbox.findUnique({ where: { tenantId } });
  const { status, delayMs } = behavior ?? { status: 204, delayMs: 0 };
  const message = { id: newId(), tenantId, endpointId, headers, body, status, receivedAt: now() };
  await db.prisma.webhookInboxMessage.create({ data: message });
  await db.of(tenantId).run`
    DELETE FROM webhook_inbox_message WHERE tenant_id = ${tenantId} AND id IN (SELECT id FROM webhook_inbox_message
      WHERE tenant_id = ${tenantId} ORDER BY id DESC OFFSET ${INBOX_MESSAGES} FOR UPDATE SKIP LOCKED)`;
  await delay(Math.min(delayMs, ATTEMPT_TIMEOUT));
  return delayMs >= ATTEMPT_TIMEOUT ? { error: 'timeout' } : { status, retryAfter: null };
}
