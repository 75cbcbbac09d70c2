import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { identifier } from '../transactions/bulkSql.js';
import { searchWords } from '../values/paging.js';

type Filter = Input<'listClinics' | 'listProducts'>['query'];

/** A list of the catalog in SQL, where its table is called `listed`. Names are known, never text from outside. */
interface CatalogList {
  readonly table: 'clinic' | 'product';
  /** The tenant's elements that are listed at all. */
  readonly listed: Prisma.Sql;
  /** Selects how many the caller may see, `active` and `inactive`. */
  readonly counts: Prisma.Sql;
  /** What leaves out some, besides isActive and search. */
  readonly conditions: readonly Prisma.Sql[];
  /** Whether the conditions name the ids of what they leave, among which a search looks. */
  readonly isNarrow: boolean;
  /** An element with its parts as JSON, where its table is called `shown`. */
  readonly element: Prisma.Sql;
  /** The columns that a search looks in; an index has their search keys. */
  readonly searched: readonly [string, string];
}

interface CatalogPage<Row> {
  /** In the order of the list. */
  readonly rows: readonly Row[];
  /** How many match the filter. */
  readonly total: number;
  readonly active: number;
  readonly inactive: number;
}

/** What is asked for in SQL. */
interface Sought {
  readonly tenantId: string;
  readonly table: CatalogList['table'];
  /** Where the elements are looked for, and what they fulfil. */
  readonly source: Prisma.Sql;
  readonly sorts: readonly Sort[];
  /** How many of them come before a mark. */
  readonly before: Prisma.Sql;
  readonly offset: number;
  readonly limit: number;
}

/** From here on a page is counted from a mark; a list has one for each thousandth of its rows. */
const MARKED_FROM = 1_000;

/**
 * One page of a list: its ids first, and then only their rows. What matches a filter is read once, for its number and for
 * the page. Without a filter the number is known, and the page comes from the index that has the order.
 */
export async function readPage<Row>(
  { db, caller }: Context,
  list: CatalogList,
  filter: Filter,
): Promise<CatalogPage<Row>> {
  const { tenantId } = caller;
  const { limit, page } = filter;
  const search = searchOf(tenantId, list, filter);
  const conditions = [...list.conditions, ...search.conditions];
  const state = stateOf(filter);
  const source = Prisma.sql`${search.source} AS listed WHERE ${Prisma.join(
    [list.listed, ...state.conditions, ...conditions],
    ' AND ',
  )}`;
  const sorts = sortsOf(filter);
  const { columns, order } = sqlOf(sorts);
  const offset = (page - 1) * limit;
  const slice = Prisma.sql`LIMIT ${limit} OFFSET ${offset}`;
  const counted = Prisma.sql`
    WITH found AS MATERIALIZED (SELECT ${columns} FROM ${source})
    SELECT active, inactive, (SELECT count(*)::int FROM found) AS total,
      ARRAY(SELECT id FROM found ORDER BY ${order} ${slice}) AS ids FROM (${list.counts}) AS counts`;
  const fromStart = Prisma.sql`ARRAY(SELECT id FROM ${source} ORDER BY ${order} ${slice})`;
  const sought = { tenantId, table: list.table, source, sorts, before: state.before, offset, limit };
  const ids = offset < MARKED_FROM ? fromStart : Prisma.sql`coalesce(${idsFromMark(sought)}, ${fromStart})`;
  const known = Prisma.sql`
    SELECT active, inactive, ${state.total} AS total, ${ids} AS ids FROM (${list.counts}) AS counts`;
  const [found] = await db.rows<CatalogPage<Row>>(Prisma.sql`
    SELECT page.active, page.inactive, page.total, (SELECT coalesce(json_agg(${list.element} ORDER BY place), '[]')
      FROM ${identifier(list.table)} AS shown JOIN unnest(page.ids) WITH ORDINALITY AS of_page(id, place)
        ON shown.tenant_id = ${tenantId} AND shown.id = of_page.id) AS rows
    FROM (${conditions.length > 0 ? counted : known}) AS page`);
  if (!found) throw new Error('a tenant has a row');
  return found;
}

/** Active or not, as it is asked for: what fulfils it, how many there are, how many of them come before a mark. */
function stateOf({ isActive }: Filter) {
  if (isActive === undefined)
    return { conditions: [], total: Prisma.sql`active + inactive`, before: Prisma.sql`list_mark.before` };
  return isActive
    ? { conditions: [Prisma.sql`listed.is_active`], total: Prisma.sql`active`, before: Prisma.sql`active_before` }
    : {
        conditions: [Prisma.sql`NOT listed.is_active`],
        total: Prisma.sql`inactive`,
        before: Prisma.sql`list_mark.before - active_before`,
      };
}

/**
 * The ids of a page, counted from the last mark before it; null without one. What follows the mark in the order are as many
 * ranges of the index as it has columns: equal in all but the last, and so on, up to what differs in the first.
 */
function idsFromMark({ tenantId, table, source, sorts, before, offset, limit }: Sought): Prisma.Sql {
  const { columns, order } = sqlOf(sorts);
  const mark = Prisma.sql`
    SELECT marked.*, nearest.before FROM (
      SELECT id, ${before} AS before FROM list_mark
      WHERE tenant_id = ${tenantId} AND list = ${table} AND sort = ${order.sql} AND ${before} <= ${offset}
      ORDER BY list_mark.before DESC LIMIT 1) AS nearest
    JOIN ${identifier(table)} AS marked ON marked.tenant_id = ${tenantId} AND marked.id = nearest.id`;
  const skipped = Prisma.sql`${offset}::int - mark.before`;
  const ranges = sorts.map(([column, direction], at) => {
    const comparison = `${direction === 'ASC' ? '>' : '<'}${at === sorts.length - 1 ? '=' : ''}`;
    const equal = sorts.slice(0, at).map(([same]) => `listed.${same} = mark.${same}`);
    const following = Prisma.raw([...equal, `listed.${column} ${comparison} mark.${column}`].join(' AND '));
    return Prisma.sql`(SELECT ${columns} FROM ${source} AND ${following} ORDER BY ${order} LIMIT ${limit} + ${skipped})`;
  });
  return Prisma.sql`(SELECT ARRAY(SELECT id FROM (${Prisma.join(ranges, ' UNION ALL ')}) AS following
      ORDER BY ${order} LIMIT ${limit} OFFSET ${skipped}) FROM (${mark}) AS mark)`;
}

/** The keys of a search are three characters long; shorter words are looked for in all names, which an index has. */
function searchOf(tenantId: string, { table, searched, isNarrow }: CatalogList, { search }: Filter) {
  const whole = Prisma.raw(table);
  const words = searchWords(search);
  if (words.length === 0) return { source: whole, conditions: [] };
  const [one, other] = searched.map((column) => Prisma.raw(column));
  // One condition for any number of words, so that a statement has one text. No word has a line end in it.
  const patterns = words.map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const conditions = [Prisma.sql`(${one} || E'\n' || ${other}) LIKE ALL (${patterns}::text[])`];
  const parts = words.flatMap(partsOf);
  if (isNarrow || parts.length === 0) return { source: whole, conditions };
  // The keys name the tenant. OFFSET 0 keeps the planner from reading an index of all its rows beside theirs.
  const source = Prisma.sql`(SELECT * FROM ${whole}
    WHERE search_keys(tenant_id, ${one}, ${other}) @> search_keys(${tenantId}, VARIADIC ${parts}::text[]) OFFSET 0)`;
  return { source, conditions };
}

/** A word in parts of three characters, one beside the other, and its last three: each key costs its list. */
const partsOf = (word: string): string[] => [...(word.match(/.{3}/gsu) ?? []), ...(word.match(/.{3}$/su) ?? [])];

const sortColumns = { name: 'name_key', sku: 'sku_key', createdAt: 'created_at', updatedAt: 'updated_at' } as const;

type Sort = readonly [column: string, direction: string];

/** Among equals the newest comes first, then the smaller id (D-08). Each order is that of an index. */
function sortsOf({ sort_by, sort_order }: Filter): Sort[] {
  const ties: Sort[] = sort_by === 'createdAt' ? [] : [['created_at', 'DESC']];
  return [[sortColumns[sort_by], sort_order.toUpperCase()], ...ties, ['id', 'ASC']];
}

const sqlOf = (sorts: readonly Sort[]) => ({
  columns: Prisma.raw(sorts.map(([column]) => column).join(', ')),
  order: Prisma.raw(sorts.map((sort) => sort.join(' ')).join(', ')),
});
