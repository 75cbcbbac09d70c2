import { onlyUuid } from './uuid.js';
import { cursorInvalid } from './positionCursor.js';

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

/** The key in a cursor of {@link listCursor}. @throws Problem cursor_invalid unless the key has this form */
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
 * The rows after a cursor of a list by time, for queries of Prisma's models. The bound of the time comes first, so that
 * an index scan can start there.
 * @throws Problem cursor_invalid
 */
export function olderThan(cursor: string | undefined) {
  if (cursor === undefined) return {};
  const { createdAt, key } = placeOf(cursor, onlyUuid);
  return { createdAt: { lte: createdAt }, OR: [{ createdAt: { lt: createdAt } }, { id: { lt: key } }] };
}

/** The size in bytes at which a page ends even before its limit. */
const MAX_BYTES = 1024 ** 2;

/** How many rows are read at once: the largest have 2 MB. */
const BATCH = 20;

/** The first elements whose JSON fits into 1 MiB; at least one. */
export function withinBytes<Element>(elements: Element[]): Element[] {
  let bytes = 0;
  const end = elements.findIndex((element, index) => (bytes += bytesOf(element)) > MAX_BYTES && index > 0);
  return end === -1 ? elements : elements.slice(0, end);
}

/** Reads rows in batches, until they exceed 1 MiB: no page shows what follows. */
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
