import type { Context } from '../../context.js';
import type { EventDataOf, EventType, Input } from '../../contract.js';
import {
  cursorInvalid,
  MAX_SCANNED,
  positionOf,
  scannedPage,
  type Scanned,
  type ScannedPage,
} from '../transactions/listCursor.js';
import { eventViewer, seesMostEvents, visibleEvent } from './visible.js';
import type { JsonOf } from '../transactions/bulkSql.js';

type Request = Input<'listEvents'>['query'];

export interface FeedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly timestamp: Date;
  readonly data: EventDataOf<EventType>;
}

type FeedReader = Pick<Context, 'db' | 'caller'>;

interface Frame extends Scanned {
  /** The tenant's latest position, of an event or skipped; null if there is none. */
  readonly latest: bigint | null;
  /** If the request's cursor was the latest before a restore: the last position that the restore skipped. */
  readonly resumed: bigint | null;
  /** The position of the first scanned event; null if there is none. */
  readonly first: bigint | null;
  readonly found: readonly JsonOf<FeedEvent & { readonly position: number }>[];
}

/**
 * Reads the tenant's events in the order of their commits, without gaps. A client gets those
 * that it may see.
 * @throws Problem cursor_invalid if the cursor is another tenant's, or its event was lost or later ones removed
 */
export async function readEvents(context: FeedReader, request: Request): Promise<ScannedPage<FeedEvent>> {
  const { tenantId } = context.caller;
  const after = request.cursor === undefined ? null : positionOf(request.cursor, tenantId);
  const frame = await scan(context, request, after ?? 0n);
  const latest = frame.latest ?? 0n;
  if (after !== null) requireNext(frame.resumed ?? after, frame.first ?? latest + 1n);
  const found = frame.found.map(({ timestamp, ...event }) => ({ timestamp: new Date(timestamp), ...event }));
  return scannedPage(tenantId, frame, found, request.limit, latest);
}

/** Reads a part of the feed by one statement: between two statements, a purge could delete events unnoticed. */
async function scan(
  { db, caller }: FeedReader,
  { types, encounter_id, limit }: Request,
  after: bigint,
): Promise<Frame> {
  const { tenantId } = caller;
  const most = types || encounter_id || !seesMostEvents(caller) ? MAX_SCANNED : limit + 1;
  return db.of(tenantId).row<Frame>`
    WITH scanned AS (
      SELECT id, type, clinic_id, pharmacy_ids, api_client_id, timestamp, data, position FROM event
      WHERE tenant_id = ${tenantId} AND position > ${after} ORDER BY position LIMIT ${most}
    ), found AS (
      SELECT id, type, timestamp, data, position FROM scanned
      WHERE (${types ?? null}::event_type[] IS NULL OR type = ANY (${types ?? null}::event_type[]))
        AND (${encounter_id ?? null}::bigint IS NULL OR data->>'encounter_id' = (${encounter_id ?? null}::bigint)::text)
        AND ${visibleEvent(eventViewer(caller), 'scanned')}
      ORDER BY position LIMIT ${limit + 1}
    )
    SELECT (SELECT position FROM event_counter WHERE tenant_id = ${tenantId}) AS latest,
      (SELECT gap_end FROM event_counter WHERE tenant_id = ${tenantId} AND gap_start = ${after}) AS resumed,
      count(*) = ${most} AS "isFull", min(position) AS first, max(position) AS "end",
      (SELECT coalesce(json_agg(found ORDER BY position), '[]') FROM found) AS found
    FROM scanned`;
}

/** Refuses a cursor unless the next position follows it: else events are gone, or the cursor was never issued. */
function requireNext(after: bigint, next: bigint): void {
  if (after + 1n < next) throw cursorInvalid('cannot be continued: its event or later ones are no longer kept');
  if (after + 1n > next) throw cursorInvalid('is not a cursor of this list, or its event was lost');
}
