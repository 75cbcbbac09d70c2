import { Problem } from '../../problem.js';

/** The cursor of a position in a feed, bound to its owner. */
export const cursorOf = (owner: string, position: bigint | number): string =>
  Buffer.from(`${owner} ${position}`).toString('base64url');

/** @throws Problem cursor_invalid, naming the parameter, unless the cursor was issued for this owner's feed */
export function positionOf(cursor: string, owner: string, parameter = 'after'): bigint {
  const [issuedTo, position = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  // More digits would overflow bigint.
  if (issuedTo !== owner || !/^\d{1,18}$/.test(position)) {
    throw cursorInvalid('is not a cursor of this list', parameter);
  }
  return BigInt(position);
}

/** Rows that one request scans, so that its cost has a bound. */
export const MAX_SCANNED = 1_000;

/** The number of scanned rows and the position of the last; null if there is none. */
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

/** Makes a page of rows, which may be one more. @param start of the next page if no row was scanned */
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

/** @param detail says what is wrong with the cursor */
export const cursorInvalid = (detail: string, parameter = 'after'): Problem =>
  new Problem('cursor_invalid', undefined, { errors: [{ parameter, code: 'cursor_invalid', detail }] });
