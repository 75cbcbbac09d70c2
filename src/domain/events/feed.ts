import type { Context } from '../../context.js';
import type { EventType, Schemas } from '../../contract.js';
import { Problem } from '../../problem.js';

export interface FeedRequest {
  /** `nextCursor` of an earlier page; undefined: from the oldest event that is kept. */
  readonly after?: string;
  readonly types?: readonly EventType[];
  readonly limit: number;
}

export interface FeedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly timestamp: Date;
  readonly data: Schemas['EventData'];
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  readonly nextCursor: string;
  /** More is there; or, when only some events are wanted, not all have been looked through. */
  readonly hasMore: boolean;
}

/** What one request looks through for the events that it wants, so that its cost has a bound. */
const MOST_SCANNED = 1_000;

/** A place in the feed: the transaction that wrote an event and the event's number, as decimal text "xid.sequence". */
type Position = string;

/** What a request learns besides the events. */
interface Frame {
  /** The last event that is no longer kept. */
  readonly purged: Position;
  /** The oldest transaction that is still under way. */
  readonly horizon: string;
  readonly scanned: number;
  /** The last event that was looked through; null when there is none. */
  readonly end: Position | null;
}

/** Each event that was found, or one row without. */
type FeedRow = Frame & ((FeedEvent & { readonly position: Position }) | { readonly id: null });

/**
 * The tenant's events, each once, in an order that never changes. Their number
 * alone would be no such order: it is drawn before the commit, so a reader would pass one whose commit comes late. The
 * order is therefore that of transactions, and a page ends before the oldest one under way: all that is still to come
 * lies behind it. A client that is limited to clinics gets the events of these and those of no clinic.
 * @throws Problem cursor_invalid: it was not issued here, or events after it are no longer kept
 */
export async function readEvents(context: Context, request: FeedRequest): Promise<FeedPage> {
  const { limit } = request;
  const after = request.after === undefined ? null : positionOf(request.after);
  const rows = await scan(context, request, after ?? '0.0');
  const [frame] = rows;
  if (!frame) throw new Error('the tenant of the caller does not exist');
  if (after !== null) requireKept(after, frame);
  const found = rows.filter((row) => row.id !== null);
  const events = found.slice(0, limit);
  const goesOn = found.length > limit;
  const end = goesOn ? events.at(-1)?.position : frame.end;
  return {
    events,
    nextCursor: cursorOf(end ?? after ?? frame.purged),
    hasMore: goesOn || frame.scanned === MOST_SCANNED,
  };
}

/** One statement, so that all of it is seen at one moment: a purge in between would go unnoticed. */
async function scan({ db, caller }: Context, { types, limit }: FeedRequest, after: Position): Promise<FeedRow[]> {
  const { tenantId, allowedClinicIds: clinics } = caller;
  const [xid, sequence] = after.split('.');
  const most = types || clinics ? MOST_SCANNED : limit + 1;
  return db.$queryRaw<FeedRow[]>`
    WITH scanned AS (
      SELECT id, type, clinic_id, timestamp, data, xid, sequence FROM event
      WHERE tenant_id = ${tenantId} AND xid < pg_snapshot_xmin(pg_current_snapshot())
        AND (xid, sequence) > (${xid}::xid8, ${sequence}::bigint)
      ORDER BY xid, sequence LIMIT ${most}
    ), found AS (
      SELECT * FROM scanned
      WHERE (${types ?? null}::event_type[] IS NULL OR type = ANY (${types ?? null}::event_type[]))
        AND (${clinics}::uuid[] IS NULL OR clinic_id IS NULL OR clinic_id = ANY (${clinics}::uuid[]))
      ORDER BY xid, sequence LIMIT ${limit + 1}
    )
    SELECT tenant.events_purged_xid || '.' || tenant.events_purged_sequence AS purged,
      pg_snapshot_xmin(pg_current_snapshot())::text AS horizon,
      (SELECT count(*)::int FROM scanned) AS scanned,
      (SELECT xid || '.' || sequence FROM scanned ORDER BY xid DESC, sequence DESC LIMIT 1) AS end,
      found.id, found.type, found.timestamp, found.data, found.xid || '.' || found.sequence AS position
    FROM tenant LEFT JOIN found ON true WHERE tenant.id = ${tenantId}
    ORDER BY found.xid, found.sequence`;
}

/** @throws Problem cursor_invalid */
function positionOf(cursor: string): Position {
  const position = Buffer.from(cursor, 'base64url').toString();
  // No more digits than xid8 and bigint hold.
  if (!/^\d{1,18}\.\d{1,18}$/.test(position)) throw cursorInvalid('is not a cursor of this list');
  return position;
}

const cursorOf = (position: Position): string => Buffer.from(position).toString('base64url');

/**
 * To go on as if nothing had happened would leave events out in silence: those that were purged, and, after a database
 * was put back to an earlier state, those that are written a second time with the same transaction ids.
 */
function requireKept(after: Position, { purged, horizon }: Frame): void {
  if (isBefore(after, purged)) throw cursorInvalid('is too old: events after it are no longer kept');
  if (!isBefore(after, `${horizon}.0`)) throw cursorInvalid('is not a cursor of this list');
}

function isBefore(one: Position, other: Position): boolean {
  const [[xid, sequence], [otherXid, otherSequence]] = [numbersOf(one), numbersOf(other)];
  return xid < otherXid || (xid === otherXid && sequence < otherSequence);
}

function numbersOf(position: Position): [xid: bigint, sequence: bigint] {
  const [xid = '', sequence = ''] = position.split('.');
  return [BigInt(xid), BigInt(sequence)];
}

const cursorInvalid = (detail: string): Problem =>
  new Problem('cursor_invalid', undefined, { errors: [{ parameter: 'after', code: 'cursor_invalid', detail }] });
