import { Problem } from '../../problem.js';

/** The cursor of a place in a feed: opaque to callers, and of its owner only. */
export const cursorOf = (owner: string, position: bigint | number): string =>
  Buffer.from(`${owner} ${position}`).toString('base64url');

/** @throws Problem cursor_invalid unless the cursor was issued for this owner's feed; it names the `parameter` that had it */
export function positionOf(cursor: string, owner: string, parameter = 'after'): bigint {
  const [issuedTo, position = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  // No more digits than bigint holds.
  if (issuedTo !== owner || !/^\d{1,18}$/.test(position)) {
    throw cursorInvalid('is not a cursor of this list', parameter);
  }
  return BigInt(position);
}

/** What one request looks through for the rows that it wants, so that its cost has a bound. */
export const MAX_SCANNED = 1_000;

/** What was looked through: how many rows, and the position of the last; null when there is none. */
export interface Scanned {
  readonly scanned: number;
  readonly end: bigint | null;
}

export interface ScannedPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string;
  /** More is there; or, when only some rows are wanted, not all have been looked through. */
  readonly hasMore: boolean;
}

/**
 * The page of what was found, which may be one row more than is wanted.
 * @param start where the next page begins if nothing was looked through
 */
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

/** @param detail what is wrong with it */
export const cursorInvalid = (detail: string, parameter = 'after'): Problem =>
  new Problem('cursor_invalid', undefined, { errors: [{ parameter, code: 'cursor_invalid', detail }] });
