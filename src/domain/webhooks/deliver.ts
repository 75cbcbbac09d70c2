import { Prisma, type WebhookEndpoint } from '../../../generated/prisma/client.js';
import { failureOf } from '../../adapters/database/databaseErrors.js';
import type { Sent } from '../../adapters/webhooks/sender.js';
import type { Services } from '../../context.js';
import type { EventType } from '../../contract.js';
import { metrics } from '../../telemetry.js';
import { updateRows } from '../transactions/rows.js';
import {
  aheadOf,
  inTransaction,
  type TransactionContext,
  type BackgroundContext,
} from '../transactions/transaction.js';
import { disable, type Target } from './endpoints.js';
import { isInbox, receive } from './inbox.js';
import { nextAttempt, wishOf } from './retries.js';
import { signedHeaders } from './signature.js';
import { isVisible, mayReceive } from './visible.js';

export type DeliveryContext = BackgroundContext & Pick<Services, 'baseUrl' | 'sendWebhook'>;

/** An endpoint that this process has leased, so that no other process sends to it. */
interface TakenEndpoint extends Target {
  /** Milliseconds that the tenant's clock is ahead of real time. */
  readonly aheadMs: bigint;
}

interface Due {
  readonly id: string;
  readonly failures: number;
  readonly dueAt: Date;
  readonly eventId: string;
  readonly type: EventType;
  readonly timestamp: Date;
  readonly data: unknown;
  /** False if the endpoint's API client may not see the event any longer. */
  readonly isVisible: boolean;
}

/** A delivery after an attempt. `dueAt` is the time for which the attempt was scheduled. */
interface Outcome extends Pick<Due, 'id' | 'failures' | 'dueAt'> {
  readonly status: 'waiting' | 'delivered' | 'failed';
  readonly nextAttemptAt: Date | null;
  readonly attempt: Attempt;
}

/** One request to a receiver, in the form in which the column `attempts` stores it. */
interface Attempt {
  readonly at: Date;
  readonly httpStatus: number | null;
  readonly error: Extract<Sent, { error: unknown }>['error'] | null;
  readonly durationMs: number;
}

/** Maximum of concurrent deliveries to one endpoint. */
const IN_FLIGHT = 8;
/** Seconds of a lease: longer than an attempt and its record. If its process dies, the endpoint waits that long. */
const LEASE_SECONDS = 30;
/** Maximum of attempts that are stored for a delivery; older ones are dropped. */
const SHOWN_ATTEMPTS = 20;
/** Milliseconds of failures without a success after which an endpoint is disabled (R-132). */
const MAX_FAILING_MS = 5 * 24 * 3_600_000;
/** Failures further apart, in milliseconds, do not belong to one period; longer than the longest retry delay. */
const LONGEST_SILENCE_MS = 29 * 3_600_000;

/** A tenant with endpoints to serve. `aheadMs`: milliseconds that its clock is ahead of real time. */
type DueTenant = Pick<TakenEndpoint, 'tenantId' | 'tenantMode' | 'aheadMs'>;

/**
 * Leases up to `most` endpoints with due deliveries, so that no other process sends to them. Tenants get equal shares;
 * the least recently served come first.
 */
export async function takeEndpoints(context: DeliveryContext, most: number): Promise<TakenEndpoint[]> {
  const { db, now, log } = context;
  const at = Prisma.sql`${now()}::timestamptz + clock_offset_ms * interval '1 ms'`;
  const tenants = await db.everyTenant.rows<DueTenant>`
    SELECT endpoint.tenant_id AS "tenantId", mode AS "tenantMode", clock_offset_ms AS "aheadMs"
    FROM webhook_endpoint AS endpoint JOIN tenant ON tenant.id = endpoint.tenant_id
    JOIN api_client ON api_client.tenant_id = endpoint.tenant_id AND api_client.id = api_client_id
    WHERE tenant.is_active AND ${isToServe(Prisma.sql`endpoint.tenant_id`, at)}
    GROUP BY endpoint.tenant_id, mode, clock_offset_ms ORDER BY min(busy_until) NULLS FIRST LIMIT ${most}`;
  const share = Math.floor(most / tenants.length);
  const taken: TakenEndpoint[] = [];
  for (const tenant of tenants) {
    try {
      taken.push(...(await takeOf(context, tenant, share)));
    } catch (error) {
      // Serve the other tenants: endpoints that are already leased would otherwise wait until their lease ends.
      const reason = failureOf(error);
      log.error({ tenantId: tenant.tenantId, ...reason }, 'a step of the webhook deliveries failed; it is repeated');
    }
  }
  return taken;
}

/** An SQL condition on `endpoint` and its `api_client`: it has a due delivery, and no process serves it. */
const isToServe = (tenantId: Prisma.Sql, at: Prisma.Sql): Prisma.Sql => Prisma.sql`
  endpoint.status = 'active' AND (busy_until IS NULL OR busy_until <= now()) AND ${mayReceive}
  AND EXISTS (SELECT FROM webhook_delivery AS delivery WHERE delivery.tenant_id = ${tenantId}
    AND endpoint_id = endpoint.id AND delivery.status = 'waiting' AND next_attempt_at <= ${at})`;

/** Leases endpoints of a tenant. Uses ARRAY: a join could run the subquery again for each row, and exceed its LIMIT. */
async function takeOf({ db, now }: DeliveryContext, tenant: DueTenant, most: number): Promise<TakenEndpoint[]> {
  const { tenantId, aheadMs } = tenant;
  const at = aheadOf(now, Number(aheadMs))();
  const taken = await db.of(tenantId).rows<Omit<TakenEndpoint, keyof DueTenant>>`
    UPDATE webhook_endpoint SET busy_until = now() + make_interval(secs => ${LEASE_SECONDS})
    WHERE tenant_id = ${tenantId} AND id = ANY (ARRAY(
      SELECT endpoint.id FROM webhook_endpoint AS endpoint
      JOIN api_client ON api_client.tenant_id = ${tenantId} AND api_client.id = api_client_id
      WHERE endpoint.tenant_id = ${tenantId} AND ${isToServe(Prisma.sql`${tenantId}`, Prisma.sql`${at}`)}
      ORDER BY busy_until NULLS FIRST LIMIT ${most} FOR UPDATE OF endpoint SKIP LOCKED))
    RETURNING id, url, secret, previous_secret AS "previousSecret", previous_secret_until AS "previousSecretUntil"`;
  return taken.map((endpoint) => ({ ...endpoint, ...tenant }));
}

/** Sends due deliveries to a leased endpoint, up to the maximum of concurrent ones, and then ends the lease. */
export async function serveEndpoint(context: DeliveryContext, endpoint: TakenEndpoint): Promise<void> {
  const local = { ...context, now: aheadOf(context.now, Number(endpoint.aheadMs)) };
  const due = await dueDeliveries(local, endpoint);
  const visible = due.filter((delivery) => delivery.isVisible);
  const outcomes = await Promise.all(visible.map((delivery) => attempt(local, endpoint, delivery)));
  const hidden = due.flatMap((delivery) => (delivery.isVisible ? [] : delivery.id));
  await inTransaction(local, (transaction) => record(transaction, endpoint, outcomes, hidden));
}

function dueDeliveries({ db, now }: DeliveryContext, { tenantId, id }: TakenEndpoint): Promise<Due[]> {
  return db.of(tenantId).rows<Due>`
    SELECT delivery.id, failures, next_attempt_at AS "dueAt", event.id AS "eventId", event.type, event.timestamp, event.data,
      ${isVisible(tenantId)} AS "isVisible"
    FROM webhook_delivery AS delivery JOIN event ON event.tenant_id = ${tenantId} AND event.id = event_id
    JOIN webhook_endpoint AS endpoint ON endpoint.tenant_id = ${tenantId} AND endpoint.id = endpoint_id
    JOIN api_client ON api_client.tenant_id = ${tenantId} AND api_client.id = endpoint.api_client_id
    WHERE delivery.tenant_id = ${tenantId} AND endpoint_id = ${id}::uuid AND delivery.status = 'waiting'
      AND next_attempt_at <= ${now()}::timestamptz ORDER BY next_attempt_at, delivery.id LIMIT ${IN_FLIGHT}`;
}

async function attempt(
  context: DeliveryContext,
  endpoint: TakenEndpoint,
  { id, failures, dueAt, eventId, type, timestamp, data }: Due,
): Promise<Outcome> {
  const { now, randomBytes } = context;
  const body = JSON.stringify({ type, timestamp: timestamp.toISOString(), data });
  const at = now();
  const sentAt = new Date(at.getTime() - Number(endpoint.aheadMs));
  const headers = signedHeaders(secretsOf(endpoint, at), eventId, sentAt, body);
  const { retryAfter, ...attempt } = await post(context, endpoint, headers, body);
  const { httpStatus: status, error, durationMs } = attempt;
  const isDone = isSuccess(attempt);
  metrics?.webhookAttempts.observe({ outcome: isDone ? 'ok' : (error ?? 'refused') }, durationMs / 1000);
  const tried = { id, dueAt, attempt };
  if (isDone) return { ...tried, status: 'delivered', failures: 0, nextAttemptAt: null };
  const wish = status === 429 || status === 503 ? retryAfter : null;
  const nextAttemptAt = nextAttempt(failures + 1, now(), wishOf(wish, sentAt), randomBytes(4).readUInt32BE() / 2 ** 32);
  return { ...tried, status: nextAttemptAt ? 'waiting' : 'failed', failures: failures + 1, nextAttemptAt };
}

/** Sends a body to an endpoint once (R-130). */
async function post(
  context: DeliveryContext,
  target: Target,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Attempt & { readonly retryAfter: string | null }> {
  const { now, baseUrl, sendWebhook } = context;
  const at = now();
  const sent = isInbox(target.url, baseUrl, target.tenantMode)
    ? await receive(context, target, headers, body)
    : await sendWebhook(target.url, { ...headers, 'content-type': 'application/json' }, body);
  const durationMs = now().getTime() - at.getTime();
  return 'status' in sent
    ? { at, httpStatus: sent.status, error: null, durationMs, retryAfter: sent.retryAfter }
    : { at, httpStatus: null, error: sent.error, durationMs, retryAfter: null };
}

const isSuccess = ({ httpStatus: status }: Attempt): boolean => status !== null && status >= 200 && status < 300;

/** The secrets that sign now: the current one and, for a day after a rotation, the previous one (R-135). */
function secretsOf({ secret, previousSecret, previousSecretUntil }: Target, at: Date): Uint8Array[] {
  return previousSecret && previousSecretUntil && previousSecretUntil > at ? [secret, previousSecret] : [secret];
}

async function record(
  context: TransactionContext,
  { tenantId, id, url }: TakenEndpoint,
  outcomes: readonly Outcome[],
  hidden: readonly string[],
): Promise<void> {
  const { db } = context;
  // Round down, so that the next deliveries are due at once: the column holds milliseconds.
  const [endpoint] = await db.of(tenantId).rows<
    Pick<WebhookEndpoint, 'status' | 'url' | 'failingSince' | 'lastFailureAt'>
  >`
    UPDATE webhook_endpoint SET busy_until = date_trunc('milliseconds', now())
    WHERE tenant_id = ${tenantId} AND id = ${id}::uuid
    RETURNING status, url, failing_since AS "failingSince", last_failure_at AS "lastFailureAt"`;
  // The endpoint and its deliveries were deleted meanwhile.
  if (!endpoint) return;
  if (outcomes.length > 0) await db.of(tenantId).run(recordOf(tenantId, outcomes));
  if (hidden.length > 0) {
    await db.of(tenantId).run`
      DELETE FROM webhook_delivery WHERE tenant_id = ${tenantId} AND id = ANY (${hidden}::uuid[])`;
  }
  // Attempts at an earlier URL say nothing about the present one.
  if (outcomes.length === 0 || endpoint.url !== url) return;
  const now = context.now();
  const isSuccess = outcomes.some(({ status }) => status === 'delivered');
  const isFailure = outcomes.some(({ status }) => status !== 'delivered');
  const isAnew = now.getTime() - (endpoint.lastFailureAt?.getTime() ?? 0) > LONGEST_SILENCE_MS;
  const failingSince = isSuccess || !isFailure ? null : isAnew ? now : (endpoint.failingSince ?? now);
  const isGone = outcomes.some(({ attempt: { httpStatus } }) => httpStatus === 410);
  const isDead = failingSince !== null && now.getTime() - failingSince.getTime() >= MAX_FAILING_MS;
  const seen = { failingSince, ...(isSuccess && { lastSuccessAt: now }), ...(isFailure && { lastFailureAt: now }) };
  await updateRows(db, tenantId, 'WebhookEndpoint', seen, Prisma.sql`id = ${id}::uuid`);
  const disabledReason = isGone ? 'gone' : isDead ? 'no_success' : null;
  if (disabledReason && endpoint.status === 'active') await disable(context, { tenantId, id }, disabledReason);
}

/** Stores attempts. If a delivery was retried or replayed meanwhile, its due time has changed, and it keeps waiting. */
function recordOf(tenantId: string, outcomes: readonly Outcome[]): Prisma.Sql {
  const isSame = Prisma.sql`delivery.next_attempt_at = outcome."dueAt"`;
  return Prisma.sql`
    UPDATE webhook_delivery AS delivery
    SET status = CASE WHEN ${isSame} THEN outcome.status ELSE delivery.status END,
      failures = CASE WHEN ${isSame} THEN outcome.failures ELSE delivery.failures END,
      next_attempt_at = CASE WHEN ${isSame} THEN outcome."nextAttemptAt" ELSE next_attempt_at END,
      attempts = CASE WHEN jsonb_array_length(attempts) < ${SHOWN_ATTEMPTS} THEN attempts ELSE attempts - 0 END || outcome.attempt
    FROM jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb)
      AS outcome (id uuid, status delivery_status, failures int, "dueAt" timestamptz, "nextAttemptAt" timestamptz, attempt jsonb)
    WHERE delivery.tenant_id = ${tenantId} AND delivery.id = outcome.id AND delivery.status = 'waiting'`;
}
