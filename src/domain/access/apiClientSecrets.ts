import { createHash } from 'node:crypto';
import { Prisma, type ApiClient, type ApiClientSecret, type Tenant } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { findRows, insertRows, updateRows } from '../transactions/rows.js';
import { inTransaction, type QueryContext, type TransactionContext } from '../transactions/transaction.js';

type SecretSummary = Pick<ApiClientSecret, 'id' | 'hint' | 'createdAt' | 'expiresAt' | 'lastUsedAt'>;

/** An API client with its {@link secrets}. */
export type ApiClientWithSecrets = ApiClient & { readonly secrets: readonly SecretSummary[] };

/** Maximum of valid secrets of a client: a rotation needs two. */
const ACTIVE_LIMIT = 2;

/** A new secret, 32 random bytes after a prefix for the tenant's mode, and the row with its hash. */
export function issueSecret(
  context: Pick<TransactionContext, 'newId' | 'now' | 'randomBytes'>,
  mode: 'live' | 'sandbox',
) {
  const random = context.randomBytes(32).toString('base64url');
  const clientSecret = `cess_${mode === 'live' ? 'live' : 'test'}_${random}`;
  const hint = clientSecret.slice(-4);
  const row = { id: context.newId(), secretHash: hashClientSecret(clientSecret), hint, createdAt: context.now() };
  return { clientSecret, row };
}

/** SHA-256 suffices for 256 random bits: they cannot be guessed, so hashing need not be slow. */
export function hashClientSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** The secrets that are valid now. */
export function activeSecrets(secrets: readonly SecretSummary[], now: Date): SecretSummary[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
}

/**
 * Adds a secret, and ends the earlier ones after `expireOldAfter` seconds: 0, for a leaked secret, ends them at once.
 * @throws Error for an unknown client, or if three secrets would be valid
 */
export async function rotateSecret(context: DomainContext, clientId: string, expireOldAfter: number) {
  return inTransaction(context, async (transaction) => {
    const client = await lockClient(transaction, clientId);
    const { tenantId, id: apiClientId } = client;
    const now = transaction.now();
    const ofClient = Prisma.sql`api_client_id = ${apiClientId}::uuid ORDER BY created_at, id`;
    const active = activeSecrets(await findRows(transaction.db, tenantId, 'ApiClientSecret', ofClient), now);
    if (active.length >= ACTIVE_LIMIT && expireOldAfter > 0) {
      throw new Error(
        `${clientId} already has ${ACTIVE_LIMIT} active secrets, the maximum. The older one ends at ` +
          `${active[0]?.expiresAt?.toISOString()}; --expire-old 0 ends both now.`,
      );
    }
    const { clientSecret, row } = issueSecret(transaction, client.mode === 'live' ? 'live' : 'sandbox');
    await insertRows(transaction.db, tenantId, 'ApiClientSecret', [{ ...row, apiClientId }]);
    const expiresAt = new Date(now.getTime() + expireOldAfter * 1000);
    const ids = active.map(({ id }) => id);
    await updateRows(transaction.db, tenantId, 'ApiClientSecret', { expiresAt }, Prisma.sql`id = ANY(${ids}::uuid[])`);
    return { clientId, clientSecret, old: active.map(({ hint }) => ({ hint, expiresAt })) };
  });
}

/**
 * Finds a client and, in a transaction, locks it, so that changes of its secrets run one after the other: no constraint
 * limits the number of secrets.
 * @throws Error for an unknown client
 */
export async function lockClient({ db }: Pick<QueryContext, 'db'>, clientId: string) {
  const [client] = await db.everyTenant.rows<Pick<ApiClient, 'id' | 'tenantId'> & Pick<Tenant, 'mode'>>`
    SELECT api_client.id, tenant_id AS "tenantId", mode FROM api_client JOIN tenant ON tenant.id = tenant_id
    WHERE client_id = ${clientId}`;
  if (!client) throw new Error(`There is no API client ${JSON.stringify(clientId)}. See "client list".`);
  const { tenantId, id } = client;
  await db.of(tenantId).run`
    SELECT FROM api_client WHERE tenant_id = ${tenantId} AND id = ${id}::uuid FOR NO KEY UPDATE`;
  return client;
}

/** The secrets of an API client, oldest first, without their hashes. */
export const secrets = {
  select: { id: true, hint: true, createdAt: true, expiresAt: true, lastUsedAt: true },
  orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
} satisfies Prisma.ApiClient$secretsArgs;
