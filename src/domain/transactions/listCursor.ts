import { Problem } from '../../problem.js';
import { onlyUuid } from './uuid.js';

/** A page of a list whose first row is the newest. */
export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** Whether further rows follow. */
  readonly hasMore: boolean;
  /** The cursor after a row. */
  readonly cursorOf: (row: Row) => string;
}

/** Makes a page of the rows found; one row more than the page holds means that further pages follow. */
export function listPage<Row>(found: readonly Row[], limit: number, cursorOf: (row: Row) => string): ListPage<Row> {
  return { rows: found.slice(0, limit), hasMore: found.length > limit, cursorOf };
}

/** The cursor after a row: the row's key or, in a list by time, its time and key. */
export const listCursor = (key: string | bigint, createdAt?: Date): string =>
  Buffer.from(createdAt ? `${createdAt.toISOString()} ${key}` : String(key)).toString('base64url');

/** The key of this `form` in a cursor of {@link listCursor}. @throws Problem cursor_invalid for any other cursor */
export function keyOf(cursor: string, form: RegExp): string {
  const key = Buffer.from(cursor, 'base64url').toString();
  if (form.test(key) && listCursor(key) === cursor) return key;
  throw cursorInvalid('is not a cursor of this list');
}

/** The time and the key in a cursor. @throws Problem cursor_invalid */
export function placeOf(cursor: string, form: RegExp): { readonly createdAt: Date; readonly key: string } {
  const [time = '', key = ''] = keyOf(cursor, /^[\dT:.-]{23}Z \S+$/).split(' ');
  const createdAt = new Date(time);
  // Refuse times before 1970: no row is so old, and PostgreSQL cannot read year 0.
  if (form.test(key) && createdAt.getTime() >= 0 && createdAt.toISOString() === time) return { createdAt, key };
  throw cursorInvalid('is not a cursor of this list');
}

/**
 * Prisma's condition for the rows after a cursor of a list by time. The bound of the time comes first, so that an index
 * scan can start there.
 * @throws Problem cursor_invalid
 */
export function olderThan(cursor: string | undefined) {
  if (cursor === undefined) return {};
  const { createdAt, key } = placeOf(cursor, onlyUuid);
  return { createdAt: { lte: createdAt }, OR: [{ createdAt: { lt: createdAt } }, { id: { lt: key } }] };
}

/** The size in bytes at which a page ends even before its limit. */
const MAX_BYTES = 1024 ** 2;

/** Number of rows read at once: few, because the largest have 2 MB. */
const BATCH = 20;

/** The first elements whose JSON fits into 1 MiB; at least one. */
export function withinBytes<Element>(elements: Element[]): Element[] {
  if (bytesOf(elements) <= MAX_BYTES) return elements;
  let bytes = 0;
  const end = elements.findIndex((element, index) => (bytes += bytesOf(element)) > MAX_BYTES && index > 0);
  return end === -1 ? elements : elements.slice(0, end);
}

/** Reads rows in batches until they exceed 1 MiB, because a page shows no row beyond that. */
export async function readUntilFull<Id, Row>(
  ids: readonly Id[],
  read: (batch: readonly Id[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let start = 0; start < ids.length && bytesOf(rows, withoutBigInt) <= MAX_BYTES; start += BATCH) {
    rows.push(...(await read(ids.slice(start, start + BATCH))));
  }
  return rows;
}

const bytesOf = (value: unknown, replacer?: (key: string, value: unknown) => unknown): number =>
  Buffer.byteLength(JSON.stringify(value, replacer));

const withoutBigInt = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

/** The cursor of a position in a feed; it is valid only for the owner of the feed. */
export const cursorOf = (owner: string, position: bigint | number): string =>
  Buffer.from(`${owner} ${position}`).toString('base64url');

/** The position in a cursor. @throws Problem cursor_invalid unless the cursor is this owner's */
export function positionOf(cursor: string, owner: string): bigint {
  const [issuedTo, position = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  // Refuse more than 18 digits, which could overflow PostgreSQL's bigint.
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

/** Makes a page of rows; one row too many means that more follow. @param start cursor position if no row was scanned */
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
