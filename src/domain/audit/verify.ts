import { Prisma, type AuditSeal } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { digestsOf, hashOfSeal, latestRemoval, NOTHING_BEFORE, type Digests } from './seal.js';

/** How old a row may become before it is sealed: the job seals each minute, and one run may fail. In milliseconds. */
export const MAX_UNSEALED_MS = 5 * 60_000;

/** Number and hash of a seal, as somebody has noted them outside of the database. */
export interface Checkpoint {
  readonly number: bigint;
  /** Hex. */
  readonly hash: string;
}

interface AuditVerdict {
  readonly seals: number;
  readonly rows: number;
  /** Number and hash of the latest seal. Who keeps them elsewhere notices that the end of the chain was cut off. */
  readonly head: { readonly number: number; readonly hash: string } | null;
  /** The first break of the chain, in words; null = there is none. */
  readonly fault: string | null;
}

type Context = Pick<DomainContext, 'db' | 'now'>;

const POSITION_BYTES = 8;
/** Nothing is before it, whatever positions somebody may invent. */
const LOWEST = -(2n ** 63n);
const ENTRY_BYTES = POSITION_BYTES + 32;

/** Recomputes the chain over the audit and compares it with the rows, and with a checkpoint if there is one. */
export async function verifyAudit(context: Context, checkpoint?: Checkpoint): Promise<AuditVerdict> {
  const anchor = await latestRemoval(context.db);
  let [seals, rows] = [0, 0];
  let before: AuditSeal | null = null;
  let fault: string | null = null;
  let isFound = checkpoint === undefined;
  for await (const seal of sealsInOrder(context)) {
    isFound ||= seal.number === checkpoint?.number;
    fault =
      linkFault(before, seal, anchor) ??
      checkpointFault(seal, checkpoint) ??
      (await rowFault(context, before, seal, anchor));
    if (fault !== null) break;
    seals += 1;
    rows += seal.number <= (anchor ?? 0n) ? 0 : seal.digests.length / ENTRY_BYTES;
    before = seal;
  }
  // Rows whose time is over were removed meanwhile.
  if (fault !== null && (await latestRemoval(context.db)) !== anchor) return verifyAudit(context, checkpoint);
  if (!isFound) fault ??= `Seal ${checkpoint?.number} of the checkpoint is missing.`;
  fault ??= await unsealedFault(context, before);
  const head = before && { number: Number(before.number), hash: hexOf(before) };
  return { seals, rows, head, fault };
}

async function* sealsInOrder({ db }: Context): AsyncGenerator<AuditSeal> {
  let after = 0n;
  for (;;) {
    const where = { number: { gt: after } };
    const seals = await db.prisma.auditSeal.findMany({ where, orderBy: { number: 'asc' }, take: 20 });
    yield* seals;
    const last = seals.at(-1);
    if (!last) return;
    after = last.number;
  }
}

/** What is wrong with a seal itself; those before the `anchor` may be gone with their rows. */
function linkFault(before: AuditSeal | null, seal: AuditSeal, anchor: bigint | null): string | null {
  const { number, hash } = seal;
  const expected = before ? before.number + 1n : 1n;
  if (before === null && number === anchor) return null;
  if (number !== expected) return `Seal ${expected} is missing.`;
  const isWhole = Buffer.compare(hashOfSeal(before?.hash ?? NOTHING_BEFORE, seal), hash) === 0;
  return isWhole ? null : `Seal ${number} was changed, or the one before it.`;
}

/** Seals that follow one another are no proof: who can write all of them can compute all of them. */
function checkpointFault(seal: AuditSeal, checkpoint: Checkpoint | undefined): string | null {
  if (seal.number !== checkpoint?.number || hexOf(seal) === checkpoint.hash.toLowerCase()) return null;
  return `Seal ${seal.number} has another hash than the checkpoint.`;
}

const hexOf = ({ hash }: AuditSeal): string => Buffer.from(hash).toString('hex');

/** Until a row is sealed it could be touched without a trace. */
async function unsealedFault({ db, now }: Context, latest: AuditSeal | null): Promise<string | null> {
  const before = new Date(now().getTime() - MAX_UNSEALED_MS);
  const [row] = await db.everyTenant.rows<{ position: bigint }>`
    SELECT position FROM audit_event WHERE position > ${latest?.through ?? LOWEST} AND at < ${before}
    ORDER BY position LIMIT 1`;
  if (!row) return null;
  const minutes = MAX_UNSEALED_MS / 60_000;
  return `Row ${row.position} has not been sealed for more than ${minutes} minutes: a running server seals each minute.`;
}

async function rowFault(
  { db }: Context,
  before: AuditSeal | null,
  { number, through, digests }: AuditSeal,
  anchor: bigint | null,
): Promise<string | null> {
  const isRemoved = anchor !== null && number <= anchor;
  // The rows of seals that are still there are just being removed.
  if (isRemoved && (before !== null || number < anchor)) return null;
  const [found] = await db.everyTenant.rows<Digests>(
    digestsOf(Prisma.sql`audit_event WHERE position > ${before?.through ?? LOWEST} AND position <= ${through}`),
  );
  return difference(isRemoved ? new Uint8Array() : digests, found?.digests ?? new Uint8Array());
}

/** The first row that is not as it was sealed. */
function difference(sealed: Uint8Array, found: Uint8Array): string | null {
  if (Buffer.compare(sealed, found) === 0) return null;
  const [then, now] = [entriesOf(sealed), entriesOf(found)];
  const positions = [...new Set([...then.keys(), ...now.keys()])].sort((one, other) => Number(one - other));
  const first = positions.find((position) => then.get(position) !== now.get(position));
  if (first === undefined) return null;
  const digest = now.get(first);
  if (digest === undefined) return `Row ${first} was removed.`;
  const [origin] = [...then].find(([, sealedDigest]) => sealedDigest === digest) ?? [];
  if (origin !== undefined) return `Row ${first} was reordered: it was sealed as row ${origin}.`;
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
