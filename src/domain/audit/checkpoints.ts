import { createHash } from 'node:crypto';
import { Prisma, type AuditSeal } from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/statements.js';
import type { DomainContext } from '../../context.js';

/** The part of a checkpoint that its hash covers. */
type CheckpointContent = Pick<AuditSeal, 'number' | 'through' | 'removes' | 'digests' | 'sealedAt'>;

/** Maximum of rows in a checkpoint: few enough for one statement; the busiest minute needs some dozens. */
const MAX_ROWS = 10_000;
/** Takes the place of the predecessor's hash in the first checkpoint. */
export const NOTHING_BEFORE = Buffer.alloc(32);

/** Position and digest of each row. A digest covers fixed columns, not the position: so moved rows are found. */
export const digestsOf = (rows: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT max(position) AS through, string_agg(int8send(position) || sha256(convert_to(json_build_array(
      (extract(epoch FROM at) * 1000)::bigint, tenant_id, client_id, operator, operation_id, resource_type, resource_id,
      patient_ids, status, code, request_id, host(ip), outcome)::text || coalesce(to_json(reviewer_ref)::text, '')
      || coalesce(count::text, ''), 'UTF8')),
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
  { number, through, removes, digests, sealedAt }: CheckpointContent,
): Uint8Array<ArrayBuffer> {
  const text = [number, through, removes ?? '', sealedAt.toISOString()].join(' ');
  return new Uint8Array(createHash('sha256').update(before).update(text).update(digests).digest());
}

export function latestCheckpoint({ db }: Pick<DomainContext, 'db'>): Promise<AuditSeal | null> {
  return db.prisma.auditSeal.findFirst({ orderBy: { number: 'desc' } });
}

/** The number of the last checkpoint whose rows were purged; null = none. */
export async function latestRemoval(db: Queries): Promise<bigint | null> {
  const [latest] = await db.everyTenant.rows<{
    removes: bigint | null;
  }>`SELECT max(removes) AS removes FROM audit_seal`;
  return latest?.removes ?? null;
}

/** The time of the last checkpoint, and the age in seconds of the oldest row without one; null = there is none. */
export async function checkpointDelay({ everyTenant }: Queries) {
  const [delay] = await everyTenant.rows<{ readonly sealedAt: Date | null; readonly waitingSeconds: number | null }>`
    SELECT last.sealed_at AS "sealedAt", (SELECT extract(epoch FROM clock_timestamp() - at)::float FROM audit_event
      WHERE position > coalesce(last.through, 0) ORDER BY position LIMIT 1) AS "waitingSeconds"
    FROM (SELECT) AS always LEFT JOIN (
      SELECT through, sealed_at FROM audit_seal ORDER BY number DESC LIMIT 1) AS last ON true`;
  return delay ?? { sealedAt: null, waitingSeconds: null };
}

/** Adds a checkpoint after `before`; false if another process has added one meanwhile. */
export async function addCheckpoint(
  { db, now }: Pick<DomainContext, 'db' | 'now'>,
  before: AuditSeal | null,
  added: Pick<CheckpointContent, 'through' | 'removes' | 'digests'>,
): Promise<boolean> {
  const content = { ...added, number: (before?.number ?? 0n) + 1n, sealedAt: now() };
  const hash = hashOfCheckpoint(before?.hash ?? NOTHING_BEFORE, content);
  const { count } = await db.prisma.auditSeal.createMany({ data: { ...content, hash }, skipDuplicates: true });
  return count === 1;
}

/** Adds checkpoints up to the horizon, below which no row can appear. Several processes may do so at once. */
export async function addCheckpoints(context: DomainContext): Promise<number> {
  const { db } = context;
  const [{ horizon } = { horizon: null }] = await db.everyTenant.rows<{ horizon: bigint | null }>`
    SELECT audit_horizon() AS horizon`;
  for (let added = 0; ; added += 1) {
    const before = await latestCheckpoint(context);
    const [found] = await db.everyTenant.rows<Digests>(
      digestsOf(Prisma.sql`(SELECT * FROM audit_event
        WHERE position > ${before?.through ?? 0n} AND position <= ${horizon ?? 0n}
        ORDER BY position LIMIT ${MAX_ROWS}) AS unsealed`),
    );
    if (!found?.through || !found.digests) return added;
    const content = { through: found.through, removes: null, digests: new Uint8Array(found.digests) };
    if (!(await addCheckpoint(context, before, content))) return added;
  }
}
