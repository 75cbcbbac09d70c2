import { Prisma } from '../../../generated/prisma/client.js';

/** A page ends here as well as at its limit. */
const MAX_BYTES = 1024 ** 2;

const limit = Prisma.raw(String(MAX_BYTES));

/**
 * Cuts off a query where its rows have 1 MiB, in the database, so that the process reads no more. Keeps one row beyond, which
 * says that there is more.
 * @param found the query, with its limit
 * @param order of its rows, by its columns
 * @param size of a row of `found`, in bytes
 */
export function withinBytes(found: Prisma.Sql, order: Prisma.Sql, size: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    SELECT * FROM (
      SELECT found.*, (sum(bytes) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING))::int AS "bytesSoFar", bytes
      FROM (${found}) AS found, LATERAL (SELECT least(${size}, ${limit}) AS bytes) AS size
    ) AS sized
    WHERE "bytesSoFar" - bytes <= ${limit} ORDER BY ${order}`;
}

/** The rows of a page: as many as the limit and, if they come from {@link withinBytes}, the bytes admit; but at least one. */
export function pageOf<Row>(found: readonly Row[], most: number): Row[] {
  const sized = found.slice(0, most) as (Row & { readonly bytesSoFar?: number })[];
  return sized.filter(({ bytesSoFar = 0 }, index) => index === 0 || bytesSoFar <= MAX_BYTES);
}
