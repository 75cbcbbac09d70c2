import { createHash } from 'node:crypto';
import { Prisma, type AuditSeal } from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/statements.js';
import type { DomainContext } from '../../context.js';
import { inTurns, type BackgroundContext } from '../transactions/transaction.js';

/** The part of a checkpoint that its hash covers. */
type CheckpointContent = Pick<AuditSeal, 'tenantId' | 'number' | 'through' | 'removes' | 'digests' | 'sealedAt'>;

/** Maximum of rows in a checkpoint, few enough for one statement. */
const MAX_ROWS = 10_000;
/** Takes the place of the predecessor's hash in the first checkpoint. */
export const NOTHING_BEFORE = Buffer.alloc(32);

/** Position and digest of each row. A digest does not cover the position, so that moved rows are recognized. */
export const digestsOf = (rows: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT max(position) AS through, string_agg(int8send(position) || sha256(convert_to(json_build_array(
      (extract(epoch FROM at) * 1000)::bigint, tenant_id, client_id, operator, operation_id, resource_type, resource_id,
      patient_ids, status, code, request_id, host(ip), outcome, reviewer_ref)::text, 'UTF8')),
      ''::bytea ORDER BY position) AS digests
  FROM ${rows}`;

/** The digests of rows and the position of the last one; both are null if there are no rows. */
export interface Digests {
  readonly through: bigint | null;
  readonly digests: Uint8Array | null;
}

/** The hash of a checkpoint, which covers all checkpoints before it. */
export function hashOfCheckpoint(
  before: Uint8Array,
  { tenantId, number, through, removes, digests, sealedAt }: CheckpointContent,
): Uint8Array<ArrayBuffer> {
  const text = [tenantId, number, through, removes ?? '', sealedAt.toISOString()].join(' ');
  return new Uint8Array(createHash('sha256').update(before).update(text).update(digests).digest());
}

/** The ids of all chains: one for each tenant, and one for rows without a tenant if there are any. */
export async function chains({ everyTenant }: Queries): Promise<string[]> {
  const rows = await everyTenant.rows<{ tenantId: string }>`
    SELECT id AS "tenantId" FROM tenant UNION SELECT tenant_id FROM audit_counter ORDER BY 1`;
  return rows.map(({ tenantId }) => tenantId);
}

/** The last checkpoint of a chain; null = none. */
export function latestCheckpoint({ db }: Pick<DomainContext, 'db'>, tenantId: string): Promise<AuditSeal | null> {
  return db.prisma.auditSeal.findFirst({ where: { tenantId }, orderBy: { number: 'desc' } });
}

/** The number of a chain's last checkpoint whose rows were purged; null = none. */
export async function latestRemoval(db: Queries, tenantId: string): Promise<bigint | null> {
  const [latest] = await db.of(tenantId).rows<{ removes: bigint | null }>`
    SELECT max(removes) AS removes FROM audit_seal WHERE tenant_id = ${tenantId}`;
  return latest?.removes ?? null;
}

/** The age in seconds of the oldest row without a checkpoint; null = there is none. */
export async function checkpointDelay({ everyTenant }: Queries): Promise<number | null> {
  const [delay] = await everyTenant.rows<{ readonly seconds: number | null }>`
    SELECT extract(epoch FROM clock_timestamp() - min(at))::float AS seconds
    FROM audit_counter AS counter JOIN audit_event AS row ON row.tenant_id = counter.tenant_id
    WHERE counter.position > sealed AND row.position > sealed`;
  return delay?.seconds ?? null;
}

/** Adds a checkpoint after `before`; false if another process has added one meanwhile. */
export async function addCheckpoint(
  { db, now }: Pick<DomainContext, 'db' | 'now'>,
  tenantId: string,
  before: AuditSeal | null,
  added: Pick<CheckpointContent, 'through' | 'removes' | 'digests'>,
): Promise<boolean> {
  const content = { ...added, tenantId, number: (before?.number ?? 0n) + 1n, sealedAt: now() };
  const hash = hashOfCheckpoint(before?.hash ?? NOTHING_BEFORE, content);
  const { count } = await db.prisma.auditSeal.createMany({ data: { ...content, hash }, skipDuplicates: true });
  return count === 1;
}

/** A chain that may have rows without a checkpoint; `last` is the latest position in its counter. */
interface Unsealed {
  readonly tenantId: string;
  readonly last: bigint;
}

/** Adds the checkpoints that chains lack. Several processes may do so at once. @returns the number of checkpoints */
export async function addCheckpoints(context: BackgroundContext): Promise<number> {
  const unsealed = () => context.db.everyTenant.rows<Unsealed>`
    SELECT tenant_id AS "tenantId", position AS last FROM audit_counter WHERE position > sealed`;
  let added = 0;
  await inTurns(context, unsealed, async (chain) => {
    const isAdded = await extend(context, chain);
    if (isAdded) added += 1;
    return isAdded;
  });
  return added;
}

/** Adds a checkpoint for the next rows of a chain, and logs it: the log reveals a chain whose end was cut off. */
async function extend(context: BackgroundContext, { tenantId, last }: Unsealed): Promise<boolean> {
  const { db, log } = context;
  const before = await latestCheckpoint(context, tenantId);
  const [found] = await db.of(tenantId).rows<Digests>(
    digestsOf(Prisma.sql`(SELECT * FROM audit_event
      WHERE tenant_id = ${tenantId} AND position > ${before?.through ?? 0n} ORDER BY position LIMIT ${MAX_ROWS}) AS unsealed`),
  );
  const through = found?.through ?? last;
  if (found?.through && found.digests) {
    const content = { through, removes: null, digests: new Uint8Array(found.digests) };
    if (!(await addCheckpoint(context, tenantId, before, content))) return false;
    const { number, hash } = (await latestCheckpoint(context, tenantId)) ?? {};
    log.info({ tenantId, checkpoint: Number(number), hash: hash && hex(hash) }, 'audit checkpoint added');
  }
  // Skip the counter while a writer has locked it: the next run updates it.
  await db.of(tenantId).run`
    UPDATE audit_counter AS counter SET sealed = greatest(sealed, ${through}) FROM (
      SELECT tenant_id FROM audit_counter WHERE tenant_id = ${tenantId} FOR NO KEY UPDATE SKIP LOCKED) AS free
    WHERE counter.tenant_id = ${tenantId} AND free.tenant_id = ${tenantId}`;
  return found?.through !== null;
}

/** The form of a hash in logs and results. */
export const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
