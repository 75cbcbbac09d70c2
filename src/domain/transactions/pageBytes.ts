import { Prisma } from '../../../generated/prisma/client.js';

/** The size in bytes at which a page ends even before its limit. */
const MAX_BYTES = 1024 ** 2;

const limit = Prisma.raw(String(MAX_BYTES));

/**
 * Limits a query to 1 MiB of rows, of `size` bytes each, plus one row that shows that more follow.
 * @param found the query, with its limit. @param order the rows' order, by columns of the query
 */
export function withinBytes(found: Prisma.Sql, order: Prisma.Sql, size: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    SELECT * FROM (
      SELECT found.*, (sum(bytes) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING))::int AS "bytesSoFar", bytes
      FROM (${found}) AS found, LATERAL (SELECT least(${size}, ${limit}) AS bytes) AS size
    ) AS sized
    WHERE "bytesSoFar" - bytes <= ${limit} ORDER BY ${order}`;
}

/** The rows of a page: at least one, then as many as both the limit and the bytes of {@link withinBytes} allow. */
export function pageOf<Row>(found: readonly Row[], most: number): Row[] {
  const sized = found.slice(0, most) as (Row & { readonly bytesSoFar?: number })[];
  return sized.filter(({ bytesSoFar = 0 }, index) => index === 0 || bytesSoFar <= MAX_BYTES);
}
