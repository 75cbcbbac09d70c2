import type { WebhookInbox, WebhookInboxMessage } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Bodies } from '../../contract.js';
import type { CallerContext } from '../transactions/transaction.js';
import { INBOX_MESSAGES } from '../events/inbox.js';
import { requireSandbox } from './requireSandbox.js';

/**
 * What the receiver of a sandbox has got, the newest first. A client that is limited to clinics sees what was sent to
 * its own endpoints, which get no event of other clinics.
 * @throws Problem sandbox_only
 */
export async function listInbox(context: Context): Promise<WebhookInboxMessage[]> {
  requireSandbox(context);
  const { db, caller } = context;
  const { tenantId, apiClientId, allowedClinicIds } = caller;
  const mine = { where: { tenantId, apiClientId }, select: { id: true } };
  const own = allowedClinicIds && (await db.prisma.webhookEndpoint.findMany(mine));
  const where = { tenantId, ...(own && { endpointId: { in: own.map(({ id }) => id) } }) };
  return db.prisma.webhookInboxMessage.findMany({ where, orderBy: { id: 'desc' }, take: INBOX_MESSAGES });
}

/** Decides what the receiver of a sandbox responds, and after how long. @throws Problem sandbox_only */
export async function setInboxBehavior(
  context: CallerContext,
  { status, delay_ms: delayMs = 0 }: Bodies['SetWebhookInboxBehaviorRequest'],
): Promise<WebhookInbox> {
  requireSandbox(context);
  const { tenantId } = context.caller;
  await context.db.of(tenantId).run`
    INSERT INTO webhook_inbox (tenant_id, status, delay_ms) VALUES (${tenantId}, ${status}, ${delayMs})
    ON CONFLICT (tenant_id) DO UPDATE SET status = excluded.status, delay_ms = excluded.delay_ms`;
  return { tenantId, status, delayMs };
}
