import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookInbox, WebhookInboxMessage } from '../../../generated/prisma/client.js';
import type { Sent } from '../../adapters/webhooks/sender.js';
import type { Caller, Context, DomainContext } from '../../context.js';
import type { Bodies } from '../../contract.js';
import { isLimited } from '../access/limits.js';
import { requireSandbox } from '../access/sandboxTenants.js';
import type { CallerContext } from '../transactions/transaction.js';
import { ATTEMPT_TIMEOUT } from './retries.js';

/** Maximum of messages that an inbox keeps; older ones are deleted. */
const INBOX_MESSAGES = 100;

/** Whether a URL is a sandbox's built-in receiver. Messages to it stay here, so no address rule applies. */
export function isInbox(url: string, baseUrl: string, tenantMode: Caller['tenantMode']): boolean {
  return tenantMode === 'sandbox' && url === `${baseUrl}/sandbox/webhook-inbox`;
}

/** Receives a message as a sandbox's built-in receiver: stores it, and responds as the partner has chosen. */
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

/**
 * Lists the messages of a sandbox's receiver, newest first; a client limited to clinics or pharmacies sees those to its
 * own endpoints.
 * @throws Problem sandbox_only
 */
export async function listInbox(context: Context): Promise<WebhookInboxMessage[]> {
  requireSandbox(context);
  const { db, caller } = context;
  const { tenantId, apiClientId } = caller;
  const mine = { where: { tenantId, apiClientId }, select: { id: true } };
  const own = isLimited(caller) && (await db.prisma.webhookEndpoint.findMany(mine));
  const where = { tenantId, ...(own && { endpointId: { in: own.map(({ id }) => id) } }) };
  return db.prisma.webhookInboxMessage.findMany({ where, orderBy: { id: 'desc' }, take: INBOX_MESSAGES });
}

/** Sets how a sandbox's receiver responds, and after which delay. @throws Problem sandbox_only */
export async function setInboxBehavior(
  context: CallerContext,
  { status, delayMs = 0 }: Bodies['SetWebhookInboxBehaviorRequest'],
): Promise<WebhookInbox> {
  requireSandbox(context);
  const { tenantId } = context.caller;
  await context.db.of(tenantId).run`
    INSERT INTO webhook_inbox (tenant_id, status, delay_ms) VALUES (${tenantId}, ${status}, ${delayMs})
    ON CONFLICT (tenant_id) DO UPDATE SET status = excluded.status, delay_ms = excluded.delay_ms`;
  return { tenantId, status, delayMs };
}
