import { Prisma, type AuditSeal } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { NO_TENANT } from '../transactions/unitOfWork.js';
import {
  chains,
  digestsOf,
  hashOfCheckpoint,
  hex,
  latestRemoval,
  NOTHING_BEFORE,
  type Digests,
} from './checkpoints.js';

/** Milliseconds for which a row may lack a checkpoint. One is added each minute, and a few runs may fail. */
export const MAX_UNSEALED_MS = 5 * 60_000;

/** The latest checkpoint of a chain. A copy of it elsewhere reveals whether the end of the chain was cut off or recomputed. */
interface Head {
  readonly tenantId: string;
  readonly number: number;
  /** In hex. */
  readonly hash: string;
}

interface AuditVerdict {
  readonly checkpoints: number;
  readonly rows: number;
  readonly heads: readonly Head[];
  /** Description of the first fault of a chain; null = all chains are intact. */
  readonly fault: string | null;
}

interface ChainVerdict extends Omit<AuditVerdict, 'heads'> {
  readonly head: AuditSeal | null;
}

type Context = Pick<DomainContext, 'db' | 'now'>;

const POSITION_BYTES = 8;
/** A position below all others, even forged negative ones. */
const LOWEST = -(2n ** 63n);
const ENTRY_BYTES = POSITION_BYTES + 32;

/** Recomputes each chain of checkpoints, and compares it with the rows. */
export async function verifyAudit(context: Context): Promise<AuditVerdict> {
  let [checkpoints, rows] = [0, 0];
  const heads: Head[] = [];
  for (const tenantId of await chains(context.db)) {
    const { head, fault, ...verdict } = await verifyChain(context, tenantId);
    checkpoints += verdict.checkpoints;
    rows += verdict.rows;
    if (head) heads.push({ tenantId, number: Number(head.number), hash: hex(head.hash) });
    const name = tenantId === NO_TENANT ? 'Rows without a tenant' : tenantId;
    if (fault !== null) return { checkpoints, rows, heads, fault: `${name}: ${fault}` };
  }
  return { checkpoints, rows, heads, fault: null };
}

async function verifyChain(context: Context, tenantId: string): Promise<ChainVerdict> {
  const anchor = await latestRemoval(context.db, tenantId);
  let [checkpoints, rows] = [0, 0];
  let before: AuditSeal | null = null;
  let fault: string | null = null;
  for await (const checkpoint of checkpointsInOrder(context, tenantId)) {
    fault = linkFault(before, checkpoint, anchor) ?? (await rowFault(context, before, checkpoint, anchor));
    if (fault !== null) break;
    checkpoints += 1;
    rows += checkpoint.number <= (anchor ?? 0n) ? 0 : checkpoint.digests.length / ENTRY_BYTES;
    before = checkpoint;
  }
  // Start again if the purge removed rows during the verification.
  if (fault !== null && (await latestRemoval(context.db, tenantId)) !== anchor) {
    return verifyChain(context, tenantId);
  }
  fault ??= await unsealedFault(context, tenantId, before);
  return { checkpoints, rows, head: before, fault };
}

async function* checkpointsInOrder({ db }: Context, tenantId: string): AsyncGenerator<AuditSeal> {
  let after = 0n;
  for (;;) {
    const where = { tenantId, number: { gt: after } };
    const checkpoints = await db.prisma.auditSeal.findMany({ where, orderBy: { number: 'asc' }, take: 20 });
    yield* checkpoints;
    const last = checkpoints.at(-1);
    if (!last) return;
    after = last.number;
  }
}

/** A break in the chain between two checkpoints. Those before the `anchor` may have been purged with their rows. */
function linkFault(before: AuditSeal | null, checkpoint: AuditSeal, anchor: bigint | null): string | null {
  const { number, hash } = checkpoint;
  const expected = before ? before.number + 1n : 1n;
  if (before === null && number === anchor) return null;
  if (number !== expected) return `Checkpoint ${expected} is missing.`;
  const isWhole = Buffer.compare(hashOfCheckpoint(before?.hash ?? NOTHING_BEFORE, checkpoint), hash) === 0;
  return isWhole ? null : `Checkpoint ${number} or the one before it was changed.`;
}

/** The fault of a row that has waited too long for a checkpoint: without one, the row could be changed without a trace. */
async function unsealedFault({ db, now }: Context, tenantId: string, latest: AuditSeal | null): Promise<string | null> {
  const before = new Date(now().getTime() - MAX_UNSEALED_MS);
  const [row] = await db.of(tenantId).rows<{ position: bigint }>`
    SELECT position FROM audit_event
    WHERE tenant_id = ${tenantId} AND position > ${latest?.through ?? LOWEST} AND at < ${before}
    ORDER BY position LIMIT 1`;
  if (!row) return null;
  const minutes = MAX_UNSEALED_MS / 60_000;
  return `Row ${row.position} has had no checkpoint for more than ${minutes} minutes. Check that a server is running: it adds one each minute.`;
}

async function rowFault(
  { db }: Context,
  before: AuditSeal | null,
  { tenantId, number, through, digests }: AuditSeal,
  anchor: bigint | null,
): Promise<string | null> {
  const isRemoved = anchor !== null && number <= anchor;
  // Skip rows that a purge is removing right now, with the checkpoints before them.
  if (isRemoved && (before !== null || number < anchor)) return null;
  const [found] = await db.of(tenantId).rows<Digests>(
    digestsOf(Prisma.sql`audit_event
      WHERE tenant_id = ${tenantId} AND position > ${before?.through ?? LOWEST} AND position <= ${through}`),
  );
  return difference(isRemoved ? new Uint8Array() : digests, found?.digests ?? new Uint8Array());
}

/** Describes the first row that differs from its checkpoint. */
function difference(sealed: Uint8Array, found: Uint8Array): string | null {
  if (Buffer.compare(sealed, found) === 0) return null;
  const [then, now] = [entriesOf(sealed), entriesOf(found)];
  const positions = [...new Set([...then.keys(), ...now.keys()])].sort((one, other) => Number(one - other));
  const first = positions.find((position) => then.get(position) !== now.get(position));
  if (first === undefined) return null;
  const digest = now.get(first);
  if (digest === undefined) return `Row ${first} was removed.`;
  const [origin] = [...then].find(([, sealedDigest]) => sealedDigest === digest) ?? [];
  if (origin !== undefined) return `Row ${first} was reordered: its checkpoint has it as row ${origin}.`;
  return `Row ${first} was ${then.has(first) ? 'changed' : 'inserted'}.`;
}

function entriesOf(digests: Uint8Array): Map<bigint, string> {
  const bytes = Buffer.from(digests);
  const entries = new Map<bigint, string>();
  for (let at = 0; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
    entries.set(bytes.readBigInt64BE(at), bytes.toString('hex', at + POSITION_BYTES, at + ENTRY_BYTES));
  }
  return entries;
}
