import { timingSafeEqual } from 'node:crypto';
import { Prisma } from '../../../generated/prisma/client.js';
import type { PublicContext } from '../../context.js';
import { updateRows } from '../transactions/rows.js';
import { inTransaction } from '../transactions/transaction.js';
import { hashClientSecret } from './apiClientSecrets.js';

interface Row {
  readonly id: string;
  readonly tenantId: string;
  readonly permissions: readonly string[];
  readonly tokensValidAfter: Date | null;
  /** Whether client, tenant and secret are all valid. If not, the columns of the secret may be null. */
  readonly isLive: boolean;
  readonly secretId: string;
  readonly secretHash: Uint8Array;
  readonly secretLastUsedAt: Date | null;
}

export interface AuthenticatedClient extends Pick<Row, 'tenantId' | 'permissions' | 'tokensValidAfter' | 'secretId'> {
  readonly clientId: string;
  /** Ids of all valid secrets of the client, including the one used here. */
  readonly liveSecretIds: readonly string[];
}

/** Uses of a secret within this time (an hour) after its `lastUsedAt` are not noted, so that tokens cost few writes. */
const LAST_USED_STEP_MS = 3_600_000;
/** Compared if the client has no valid secret or is unknown, so that the time of the response does not reveal that. */
const NO_HASH = new Uint8Array(32);

/** The client with this secret; null unless client, tenant and secret are valid. */
export async function authenticateClient(
  context: PublicContext,
  clientId: string,
  clientSecret: string,
): Promise<AuthenticatedClient | null> {
  const presented = hashClientSecret(clientSecret);
  const now = context.now();
  const found = isClientId(clientId) ? await secretsOf(context, clientId, now) : [];
  const [known] = found;
  if (known) Object.assign(context.audit, { tenantId: known.tenantId, clientId });
  const rows = found.filter(({ isLive }) => isLive);
  const used = (rows.length > 0 ? rows : [null]).find((row) => timingSafeEqual(row?.secretHash ?? NO_HASH, presented));
  if (!used) return null;
  await noteUse(context, used, now);
  const { tenantId, permissions, tokensValidAfter, secretId } = used;
  const liveSecretIds = rows.map((row) => row.secretId);
  return { tenantId, clientId, permissions, tokensValidAfter, secretId, liveSecretIds };
}

/** Whether the text has the form of a client_id. Callers can send anything. */
export const isClientId = (text: string): boolean => /^ces_[a-z2-7]{20}$/.test(text);

/** The unexpired secrets of a client, or one row without any. Searches all tenants: the tenant is not known yet. */
function secretsOf({ db }: PublicContext, clientId: string, now: Date): Promise<Row[]> {
  return db.everyTenant.rows<Row>`
    SELECT c.id, c.tenant_id AS "tenantId", c.permissions, c.tokens_valid_after AS "tokensValidAfter",
           s.id IS NOT NULL AND c.is_active AND t.is_active AS "isLive",
           s.id AS "secretId", s.secret_hash AS "secretHash", s.last_used_at AS "secretLastUsedAt"
    FROM (SELECT * FROM api_client WHERE client_id = ${clientId}) AS c
    JOIN tenant t ON t.id = c.tenant_id
    LEFT JOIN api_client_secret s ON s.tenant_id = c.tenant_id AND s.api_client_id = c.id
      AND (s.expires_at IS NULL OR s.expires_at > ${now})`;
}

async function noteUse(context: PublicContext, row: Row, now: Date): Promise<void> {
  const { id, tenantId, secretId, secretLastUsedAt } = row;
  if (secretLastUsedAt && now.getTime() - secretLastUsedAt.getTime() < LAST_USED_STEP_MS) return;
  // Update the client first: rotating a secret locks the client first, too, and the reverse order deadlocks.
  await inTransaction(context, async ({ db }) => {
    await updateRows(db, tenantId, 'ApiClient', { lastUsedAt: now }, Prisma.sql`id = ${id}::uuid`);
    await updateRows(db, tenantId, 'ApiClientSecret', { lastUsedAt: now }, Prisma.sql`id = ${secretId}::uuid`);
  });
}

/** HTTP Basic credentials (RFC 6749 §2.3.1: both halves are form-encoded); null if malformed. */
export function basicCredentials(authorization: string): { clientId: string; clientSecret: string } | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization) ?? [];
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(encoded ? Buffer.from(encoded, 'base64').toString('utf8') : '') ?? [];
  if (id === undefined || secret === undefined) return null;
  try {
    const decode = (part: string): string => decodeURIComponent(part.replaceAll('+', ' '));
    return { clientId: decode(id), clientSecret: decode(secret) };
  } catch {
    return null;
  }
}
