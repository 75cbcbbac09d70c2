import { Prisma, type EventType as NamedType, type WebhookEndpoint } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Bodies, EventDataOf, EventType, Schemas } from '../../contract.js';
import { fieldProblem, invalidState, Problem } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import type { Reads } from '../../adapters/database/database.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import type { CallerContext, LookupContext, ModelContext, TransactionContext } from '../transactions/transaction.js';
import { isInbox } from './inbox.js';

const shownFields = {
  id: true,
  url: true,
  description: true,
  status: true,
  disabledReason: true,
  lastSuccessAt: true,
  lastFailureAt: true,
  createdAt: true,
  updatedAt: true,
} as const satisfies Prisma.WebhookEndpointSelect;

/** An endpoint without its secrets. */
export interface Endpoint extends Omit<Pick<WebhookEndpoint, keyof typeof shownFields>, 'disabledReason'> {
  readonly types: EventType[];
  readonly disabledReason: Schemas['WebhookEndpoint']['disabledReason'];
}

/** The columns of an endpoint that sending to it needs. */
export interface Target extends Pick<
  WebhookEndpoint,
  'tenantId' | 'id' | 'url' | 'secret' | 'previousSecret' | 'previousSecretUntil'
> {
  readonly tenantMode: 'live' | 'sandbox';
}

/** An API client with this many endpoints cannot create another. */
const MAX_ENDPOINTS = 5;
const SECRET_BYTES = 32;
const DELETED_AT_ONCE = 5_000;
/** Milliseconds after a rotation during which the previous secret signs, too. */
const OVERLAP_MS = 24 * 60 * 60 * 1000;

/** The columns of an {@link Endpoint}. */
const shown = Prisma.sql`${fieldsOf('WebhookEndpoint', 'webhook_endpoint', Object.keys(shownFields))},
  types::text[] AS types`;

/** The endpoints that a caller manages: its own and those of deactivated clients, such as the fixture's. */
const ownOf = ({ caller: { tenantId, apiClientId } }: Pick<LookupContext, 'caller'>) => ({
  tenantId,
  OR: [{ apiClientId }, { apiClient: { isActive: false } }],
});

/** The condition of {@link ownOf} as SQL, for one endpoint. */
const one = ({ caller: { tenantId, apiClientId } }: LookupContext, id: string): Prisma.Sql => Prisma.sql`
  webhook_endpoint.tenant_id = ${tenantId} AND webhook_endpoint.id = ${id}::uuid
  AND (api_client_id = ${apiClientId}::uuid OR api_client_id IN (
    SELECT id FROM api_client WHERE tenant_id = ${tenantId} AND NOT is_active))`;

/** A client that changes a deactivated client's endpoint owns it from then on, even if that client is reactivated. */
const takingOver = (apiClientId: string): Prisma.Sql => Prisma.sql`api_client_id = ${apiClientId}::uuid`;

const latestPosition = (tenantId: string): Prisma.Sql =>
  Prisma.sql`coalesce((SELECT position FROM event_counter WHERE tenant_id = ${tenantId}), 0)`;

const secretText = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`;

/** Refuses a forbidden URL, as far as that is possible without DNS. @throws Problem webhook_url_forbidden */
export function checkUrl(
  { caller, baseUrl, isWebhookTarget }: Pick<Context, 'caller' | 'baseUrl' | 'isWebhookTarget'>,
  url: string,
): void {
  if (isInbox(url, baseUrl, caller.tenantMode) || isWebhookTarget(url)) return;
  throw fieldProblem('webhook_url_forbidden', '#/url', 'is not a public https URL without credentials');
}

/** Creates an endpoint, which receives events from now on. @throws Problem webhook_limit_reached */
export async function createEndpoint(
  context: CallerContext,
  { url, types = [], description }: Bodies['CreateWebhookEndpointRequest'],
) {
  const { db, caller, newId, randomBytes } = context;
  const { tenantId, apiClientId } = caller;
  // Lock the client: otherwise two simultaneous requests could both create the last endpoint that is allowed.
  await db.of(tenantId).run`
    SELECT FROM api_client WHERE tenant_id = ${tenantId} AND id = ${apiClientId}::uuid FOR NO KEY UPDATE`;
  const secret = randomBytes(SECRET_BYTES);
  const now = context.now();
  const [endpoint] = await db.of(tenantId).rows<Endpoint>`
    WITH start AS (SELECT ${tenantId}::text AS tenant_id, ${latestPosition(tenantId)} AS position),
    cursor AS (
      INSERT INTO webhook_cursor (tenant_id, position) SELECT tenant_id, position FROM start
      ON CONFLICT (tenant_id) DO NOTHING
    )
    INSERT INTO webhook_endpoint
      (id, tenant_id, api_client_id, url, types, description, secret, from_position, created_at, updated_at)
    SELECT ${newId()}::uuid, tenant_id, ${apiClientId}::uuid, ${url}::text, ${types}::event_type[], ${description ?? null}::text,
      ${secret}::bytea, position, ${now}::timestamptz, ${now}::timestamptz
    FROM start
    WHERE ${MAX_ENDPOINTS} > (SELECT count(*) FROM webhook_endpoint AS other
      WHERE other.tenant_id = ${tenantId} AND other.api_client_id = ${apiClientId}::uuid)
    RETURNING ${shown}`;
  if (!endpoint) throw new Problem('webhook_limit_reached');
  return { endpoint, secret: secretText(secret) };
}

/** Lists the endpoints, oldest first. There are no pages, because each client can create only five. */
export const listEndpoints = (context: ModelContext): Promise<Endpoint[]> => findEndpoints(context.db, ownOf(context));

/** Reads an endpoint. @throws Problem webhook_endpoint_not_found */
export const getEndpoint = (context: ModelContext, id: string): Promise<Endpoint> =>
  found(findEndpoints(context.db, { ...ownOf(context), id }));

/** The type of an event by its name in Prisma, where names cannot have a full stop. */
export const typeOf = (name: NamedType): EventType => name.replace('_', '.') as EventType;

async function findEndpoints({ prisma }: Reads, where: Prisma.WebhookEndpointWhereInput) {
  const select = { ...shownFields, types: true } as const;
  const endpoints = await prisma.webhookEndpoint.findMany({ where, select, orderBy: { id: 'asc' } });
  return endpoints.map(({ types, ...endpoint }) => ({
    ...endpoint,
    disabledReason: endpoint.disabledReason as Endpoint['disabledReason'],
    types: types.map(typeOf),
  }));
}

/**
 * Changes an endpoint. A reactivated one gets the events from then on, and the deliveries that have waited.
 * @throws Problem webhook_endpoint_not_found
 */
export async function updateEndpoint(
  context: CallerContext,
  id: string,
  { url, types, description, status }: Schemas['WebhookEndpointPatch'],
): Promise<Endpoint> {
  const { tenantId, apiClientId } = context.caller;
  const changes = [
    takingOver(apiClientId),
    ...(url === undefined ? [] : [Prisma.sql`url = ${url}`]),
    ...(types === undefined ? [] : [Prisma.sql`types = ${types ?? []}::event_type[]`]),
    ...(description === undefined ? [] : [Prisma.sql`description = ${description}`]),
    ...(status === 'active' ? [enabling(tenantId)] : []),
    ...(status === 'active' || url !== undefined ? [Prisma.sql`failing_since = NULL`] : []),
    ...(status === 'disabled' ? [disabling('partner')] : []),
    Prisma.sql`updated_at = ${context.now()}`,
  ];
  return found(context.db.of(tenantId).rows`
    WITH changed AS (UPDATE webhook_endpoint SET ${Prisma.join(changes)} WHERE ${one(context, id)} RETURNING *)
    SELECT ${shown} FROM changed AS webhook_endpoint`);
}

/** Disables an active endpoint that is locked. The partner learns this from the event feed. */
export async function disable(
  context: TransactionContext,
  { tenantId, id }: Pick<WebhookEndpoint, 'tenantId' | 'id'>,
  reason: EventDataOf<'webhook.disabled'>['reason'],
): Promise<void> {
  const [owner] = await context.db.of(tenantId).rows<Pick<WebhookEndpoint, 'apiClientId'>>`
    UPDATE webhook_endpoint SET ${disabling(reason)}, updated_at = ${context.now()}
    WHERE tenant_id = ${tenantId} AND id = ${id}::uuid RETURNING api_client_id AS "apiClientId"`;
  const place = { tenantId, clinicId: null, apiClientId: owner?.apiClientId ?? null };
  recordEvent(context, place, 'webhook.disabled', { endpointId: id, reason });
}

/** Column values that disable an endpoint. One that is already disabled keeps its reason. */
const disabling = (reason: NonNullable<Endpoint['disabledReason']>): Prisma.Sql =>
  Prisma.sql`status = 'disabled', disabled_reason = coalesce(disabled_reason, ${reason})`;

/** Column values that activate an endpoint from the latest event on; an active one keeps its place in the feed. */
const enabling = (tenantId: string): Prisma.Sql => Prisma.sql`
  status = 'active', disabled_reason = NULL,
  from_position = CASE WHEN status = 'active' THEN from_position ELSE ${latestPosition(tenantId)} END`;

/** Records a ping to this endpoint alone. @returns the event's id. @throws Problem as {@link requireActive} */
export async function pingEndpoint(context: CallerContext, id: string): Promise<string> {
  const { caller, events, now } = context;
  const endpoint = await requireActive(context, id);
  const eventId = context.newId();
  const place = { tenantId: caller.tenantId, clinicId: null, apiClientId: caller.apiClientId };
  recordEvent({ events, now, newId: () => eventId }, place, 'webhook.ping', { endpointId: endpoint.id });
  return eventId;
}

/** Locks a tenant's endpoints. Lock them before their deliveries, as attempts do: the reverse order deadlocks. */
export const lockingEndpoints = (tenantId: string): Prisma.Sql => Prisma.sql`
  SELECT FROM webhook_endpoint WHERE tenant_id = ${tenantId} ORDER BY id FOR NO KEY UPDATE`;

/** Locks an endpoint to send to. @throws Problem webhook_endpoint_not_found; invalid_state if it is disabled */
export async function requireActive(context: LookupContext, id: string): Promise<Endpoint> {
  const endpoint = await found<Endpoint>(
    context.db.of(context.caller.tenantId).rows`
      SELECT ${shown} FROM webhook_endpoint WHERE ${one(context, id)} FOR NO KEY UPDATE`,
  );
  if (endpoint.status !== 'active') {
    throw invalidState(
      endpoint.status,
      'The endpoint is disabled. Set its status to active with PATCH /webhook-endpoints/{endpoint_id} first.',
    );
  }
  return endpoint;
}

/** Deletes an endpoint and its deliveries. @throws Problem webhook_endpoint_not_found */
export async function deleteEndpoint(context: CallerContext, id: string): Promise<void> {
  const { tenantId } = context.caller;
  await found(context.db.of(tenantId).rows`SELECT true FROM webhook_endpoint WHERE ${one(context, id)} FOR UPDATE`);
  // Delete deliveries in parts, each small enough for the statement timeout.
  const some = Prisma.sql`
    DELETE FROM webhook_delivery WHERE tenant_id = ${tenantId} AND id IN (SELECT id FROM webhook_delivery
      WHERE tenant_id = ${tenantId} AND endpoint_id = ${id}::uuid LIMIT ${DELETED_AT_ONCE})`;
  while ((await context.db.of(tenantId).run(some)) === DELETED_AT_ONCE);
  await context.db.of(tenantId).run`DELETE FROM webhook_endpoint WHERE tenant_id = ${tenantId} AND id = ${id}::uuid`;
}

/** Creates a new secret; the previous one signs, too, for a day. @throws Problem webhook_endpoint_not_found */
export async function rotateSecret(context: CallerContext, id: string) {
  const secret = context.randomBytes(SECRET_BYTES);
  const now = context.now();
  const previousSecretUntil = new Date(now.getTime() + OVERLAP_MS);
  await found(context.db.of(context.caller.tenantId).rows<object>`
    UPDATE webhook_endpoint SET ${takingOver(context.caller.apiClientId)}, previous_secret = secret, previous_secret_until = ${previousSecretUntil},
      secret = ${secret}::bytea, updated_at = ${now}
    WHERE ${one(context, id)} RETURNING true`);
  return { secret: secretText(secret), previousSecretUntil };
}

async function found<Row extends object>(rows: Promise<readonly Row[]>): Promise<Row> {
  const [row] = await rows;
  if (row === undefined) throw new Problem('webhook_endpoint_not_found');
  return row;
}
