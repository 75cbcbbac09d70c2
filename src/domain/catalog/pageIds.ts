import { Prisma } from '../../../generated/prisma/client.js';
import { identifier } from '../transactions/bulkSql.js';

export type Sort = readonly [column: string, direction: string];

/** A page of a list in SQL. */
interface SoughtPage {
  readonly tenantId: string;
  readonly table: 'clinic' | 'product';
  /** Where the elements are looked for, and which conditions they meet; they are called `listed`. */
  readonly source: Prisma.Sql;
  /** The order; an index has the same. */
  readonly sorts: readonly Sort[];
  readonly isActive: boolean | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** From this offset on a page is counted from a mark, of which a list has one for each thousandth row. */
const MARKED_FROM = 1_000;

export const orderSql = (sorts: readonly Sort[]) => ({
  columns: Prisma.raw(sorts.map(([column]) => column).join(', ')),
  order: Prisma.raw(sorts.map((sort) => sort.join(' ')).join(', ')),
});

/** The ids of a page without a filter but `isActive`. */
export function pageIds(page: SoughtPage): Prisma.Sql {
  const { source, sorts, isActive, offset, limit } = page;
  const fromStart = Prisma.sql`ARRAY(SELECT id FROM ${source} ORDER BY ${orderSql(sorts).order} LIMIT ${limit} OFFSET ${offset})`;
  // Most are active as a rule: to get past a thousand of the others, nearly the whole list would be read.
  const isFar = offset >= MARKED_FROM || isActive === false;
  return isFar ? Prisma.sql`coalesce(${idsFromMark(page)}, ${fromStart})` : fromStart;
}

/**
 * Counted from the last mark before the page; null without one. What follows the mark is one range of the index for each
 * column: first the rows that equal the mark in all columns but the last, then in all but the last two, and so on. A range is
 * read only for what those before it lack.
 */
function idsFromMark({ tenantId, table, source, sorts, isActive, offset, limit }: SoughtPage): Prisma.Sql {
  const { columns, order } = orderSql(sorts);
  const before = beforeMark(isActive);
  const mark = Prisma.sql`
    SELECT marked.*, nearest.before FROM (
      SELECT id, ${before} AS before FROM list_mark
      WHERE tenant_id = ${tenantId} AND list = ${table} AND sort = ${order.sql} AND ${before} <= ${offset}
      ORDER BY list_mark.before DESC LIMIT 1) AS nearest
    JOIN ${identifier(table)} AS marked ON marked.tenant_id = ${tenantId} AND marked.id = nearest.id`;
  const skipped = Prisma.sql`${offset}::int - mark.before`;
  const ranges = sorts.toReversed().map(([column, direction], nearer) => {
    const comparison = `${direction === 'ASC' ? '>' : '<'}${nearer === 0 ? '=' : ''}`;
    const equal = sorts.slice(0, -1 - nearer).map(([same]) => `listed.${same} = mark.${same}`);
    const following = Prisma.raw([...equal, `listed.${column} ${comparison} mark.${column}`].join(' AND '));
    const found = Prisma.raw(
      Array.from({ length: nearer }, (_, at) => ` - (SELECT count(*) FROM range${at})`).join(''),
    );
    return Prisma.sql`${Prisma.raw(`range${nearer}`)} AS MATERIALIZED (
      SELECT ${columns} FROM ${source} AND ${following} ORDER BY ${order} LIMIT ${limit} + ${skipped}${found})`;
  });
  const all = Prisma.raw(ranges.map((_, at) => `TABLE range${at}`).join(' UNION ALL '));
  return Prisma.sql`(
    SELECT ARRAY(WITH ${Prisma.join(ranges)} SELECT id FROM (${all}) AS following
      ORDER BY ${order} LIMIT ${limit} OFFSET ${skipped}) FROM (${mark}) AS mark)`;
}

/** How many of those that are listed come before a mark. */
function beforeMark(isActive: boolean | undefined): Prisma.Sql {
  if (isActive === undefined) return Prisma.sql`list_mark.before`;
  return isActive ? Prisma.sql`active_before` : Prisma.sql`list_mark.before - active_before`;
}
