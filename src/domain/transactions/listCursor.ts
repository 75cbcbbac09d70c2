import { pageOf } from './pageBytes.js';
import { cursorInvalid } from './positionCursor.js';

/** One page of a list that begins with the newest. */
export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/** The page of what was found, which may be one row more than the page holds. */
export function listPage<Row>(found: readonly Row[], limit: number, cursorOf: (last: Row) => string): ListPage<Row> {
  const rows = pageOf(found, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: last && found.length > rows.length ? cursorOf(last) : null };
}

/** The cursor of a row by its key, behind its time where that comes first in the order. */
export const listCursor = (key: string | bigint, createdAt?: Date): string =>
  Buffer.from(createdAt ? `${createdAt.toISOString()} ${key}` : String(key)).toString('base64url');

/** @throws Problem cursor_invalid unless it is one that {@link listCursor} made of such a key, to the letter */
export function keyOf(cursor: string, form: RegExp): string {
  const key = Buffer.from(cursor, 'base64url').toString();
  if (form.test(key) && listCursor(key) === cursor) return key;
  throw cursorInvalid('is not a cursor of this list', 'cursor');
}

/** The same with a time. */
export function placeOf(cursor: string, form: RegExp): { readonly createdAt: Date; readonly key: string } {
  const [time = '', key = ''] = keyOf(cursor, /^[\dT:.-]{23}Z \S+$/).split(' ');
  const createdAt = new Date(time);
  // Nothing is older than 1970, and PostgreSQL knows no year 0.
  if (form.test(key) && createdAt.getTime() >= 0 && createdAt.toISOString() === time) return { createdAt, key };
  throw cursorInvalid('is not a cursor of this list', 'cursor');
}
