import { Problem } from '../../problem.js';

/** The cursor of a position in a feed; it is valid only for the owner of the feed. */
export const cursorOf = (owner: string, position: bigint | number): string =>
  Buffer.from(`${owner} ${position}`).toString('base64url');

/** The position in a cursor. @throws Problem cursor_invalid unless the cursor is this owner's */
export function positionOf(cursor: string, owner: string): bigint {
  const [issuedTo, position = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  // Refuse more than 18 digits, which would overflow PostgreSQL's bigint.
  if (issuedTo !== owner || !/^\d{1,18}$/.test(position)) {
    throw cursorInvalid('is not a cursor of this list');
  }
  return BigInt(position);
}

/** Maximum of rows that one request scans, which limits its cost. */
export const MAX_SCANNED = 1_000;

export interface Scanned {
  /** Whether the scan ended at its limit, so that further rows may match. */
  readonly isFull: boolean;
  /** The position of the last scanned row; null if there is none. */
  readonly end: bigint | null;
}

/** @param most the limit of the scan */
export const extentOf = (rows: readonly { readonly position: bigint }[], most: number): Scanned => {
  return { isFull: rows.length === most, end: rows.at(-1)?.position ?? null };
};

/** A filter of scanned rows by equal values; undefined = any. A selective one may exclude rows. */
export function filterOf<Row>(wanted: { readonly [Field in keyof Row]?: Row[Field] | undefined }) {
  const fields = (Object.keys(wanted) as (keyof Row)[]).filter((field) => wanted[field] !== undefined);
  return {
    isSelective: fields.length > 0,
    matches: (row: Row): boolean => fields.every((field) => row[field] === wanted[field]),
  };
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
  { isFull, end }: Scanned,
  found: readonly Row[],
  limit: number,
  start: bigint,
): ScannedPage<Row> {
  const rows = found.slice(0, limit);
  const goesOn = found.length > limit;
  const last = goesOn ? rows.at(-1)?.position : end;
  return { rows, nextCursor: cursorOf(owner, last ?? start), hasMore: goesOn || isFull };
}

/** The problem of an invalid cursor. @param detail says what is wrong with it */
export const cursorInvalid = (detail: string): Problem =>
  new Problem('cursor_invalid', undefined, { errors: [{ parameter: 'cursor', code: 'cursor_invalid', detail }] });
