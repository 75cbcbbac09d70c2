import { Prisma } from '../../../generated/prisma/client.js';
import type { Statements } from '../../adapters/database/statements.js';
import { Problem } from '../../problem.js';

/** The cursor of a position in a feed; it is valid only for the owner of the feed. */
export const cursorOf = (owner: string, position: bigint | number): string =>
  Buffer.from(`${owner} ${position}`).toString('base64url');

/** The position in a cursor. @throws Problem cursor_invalid, naming the parameter, unless the cursor is this owner's */
export function positionOf(cursor: string, owner: string, parameter = 'after'): bigint {
  const [issuedTo, position = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  // Refuse more than 18 digits, which would overflow PostgreSQL's bigint.
  if (issuedTo !== owner || !/^\d{1,18}$/.test(position)) {
    throw cursorInvalid('is not a cursor of this list', parameter);
  }
  return BigInt(position);
}

/** Maximum of rows that one request scans, which limits its cost. */
export const MAX_SCANNED = 1_000;

/** The number of scanned rows, and the position of the last one; null if there is none. */
export interface Scanned {
  readonly scanned: number;
  readonly end: bigint | null;
}

export interface ScannedPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string;
  /** Whether more rows match, or may match beyond the scanned ones. */
  readonly hasMore: boolean;
}

/** Makes a page of rows; one row too many means that more follow. @param start next position if none was scanned */
export function scannedPage<Row extends { readonly position: bigint | number }>(
  owner: string,
  { scanned, end }: Scanned,
  found: readonly Row[],
  limit: number,
  start: bigint,
): ScannedPage<Row> {
  const rows = found.slice(0, limit);
  const goesOn = found.length > limit;
  const last = goesOn ? rows.at(-1)?.position : end;
  return { rows, nextCursor: cursorOf(owner, last ?? start), hasMore: goesOn || scanned === MAX_SCANNED };
}

/** A page in SQL: of `rows`, those that match `isCounted` announce further pages, and those in `isShown` are listed. */
interface Scan {
  readonly owner: string;
  readonly start: bigint;
  readonly limit: number;
  readonly direction: 'ASC' | 'DESC';
  /** Selects the rows to scan, without order and limit. */
  readonly rows: Prisma.Sql;
  /** Whether `isShown` may exclude rows. */
  readonly isSelective: boolean;
  readonly isCounted?: Prisma.Sql;
  readonly isShown: Prisma.Sql;
}

/** Reads a page of rows with a `position`, by one statement. */
export async function readScan<Row extends { readonly position: bigint }>(
  db: Statements,
  { owner, start, limit, direction, rows, isSelective, isCounted = Prisma.sql`true`, isShown }: Scan,
): Promise<ScannedPage<Row>> {
  const order = Prisma.raw(`position ${direction}`);
  const end = Prisma.raw(direction === 'ASC' ? 'max' : 'min');
  const read = await db.rows<Scanned & (Row | { readonly position: null })>`
    WITH scanned AS (${rows} ORDER BY ${order} LIMIT ${isSelective ? MAX_SCANNED : limit + 1}),
    counted AS (SELECT * FROM scanned WHERE ${isCounted}),
    found AS (SELECT * FROM counted WHERE ${isShown} ORDER BY ${order} LIMIT ${limit + 1})
    SELECT frame.*, found.* FROM (SELECT count(*)::int AS scanned, ${end}(position) AS "end" FROM counted) AS frame
    LEFT JOIN found ON true ORDER BY found.${order}`;
  const [frame] = read;
  if (!frame) throw new Error('an aggregate returned no row');
  const found = read.filter((row) => row.position !== null);
  return scannedPage(owner, frame, found, limit, start);
}

/** The problem of an invalid cursor. @param detail says what is wrong with it */
export const cursorInvalid = (detail: string, parameter = 'after'): Problem =>
  new Problem('cursor_invalid', undefined, { errors: [{ parameter, code: 'cursor_invalid', detail }] });
