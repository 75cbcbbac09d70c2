import type { ListPage } from '../domain/transactions/listCursor.js';
import { withinBytes } from '../domain/transactions/listCursor.js';

/** A page of a list with a cursor, cut at 1 MiB. The cursor continues after its last element. */
export function cursorPage<Row, Element>({ rows, hasMore, cursorOf }: ListPage<Row>, view: (row: Row) => Element) {
  const data = withinBytes(rows.map((row) => view(row)));
  const last = hasMore || data.length < rows.length ? rows[data.length - 1] : undefined;
  return { data, next_cursor: last ? cursorOf(last) : null, has_more: last !== undefined };
}
