import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { identifier } from '../transactions/bulkSql.js';
import { searchWords } from './search.js';

type Filter = Input<'listClinics' | 'listProducts'>['query'];

/** A catalog list in SQL, whose table has the alias `listed`. Table and column names are constants, never input. */
interface CatalogList {
  readonly table: 'clinic' | 'product';
  /** The condition for rows of the list, before any filter. */
  readonly listed: Prisma.Sql;
  /** Selects `active` and `inactive`: how many such elements the caller may see. */
  readonly counts: Prisma.Sql;
  /** Conditions of filters other than isActive and search. */
  readonly conditions: readonly Prisma.Sql[];
  /** Whether `conditions` find few rows by id, so that the search need only filter those. */
  readonly isNarrow: boolean;
  /** Selects an element with its parts as JSON; its table has the alias `shown`. */
  readonly element: Prisma.Sql;
  /** Ids of parts that an element shows first; `element` reads them as `asked.first`. */
  readonly first: readonly string[];
  /** The columns that a search reads; their search keys are indexed. */
  readonly searched: readonly [string, string];
}

interface CatalogPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly active: number;
  readonly inactive: number;
}

/**
 * Reads the ids of a page, then its rows. Without filter, the total is stored, and reading starts at the nearer end.
 */
export async function readPage<Row>(
  { db, caller }: Context,
  list: CatalogList,
  filter: Filter,
): Promise<CatalogPage<Row>> {
  const { tenantId } = caller;
  const { isActive, limit, page } = filter;
  const search = searchOf(tenantId, list, filter);
  const conditions = [...list.conditions, ...search.conditions];
  const source = Prisma.sql`${search.source} AS listed WHERE ${Prisma.join(
    [list.listed, ...stateOf(isActive), ...conditions],
    ' AND ',
  )}`;
  const { columns, order, reverse } = orderOf(filter);
  const offset = (page - 1) * limit;
  const slice = Prisma.sql`LIMIT ${limit} OFFSET ${offset}`;
  const selected =
    conditions.length > 0
      ? Prisma.sql`
    WITH found AS MATERIALIZED (SELECT ${columns} FROM ${source})
    SELECT active, inactive, (SELECT count(*)::int FROM found) AS total,
      ARRAY(SELECT id FROM found ORDER BY ${order} ${slice}) AS ids
    FROM (${list.counts}) AS counts`
      : Prisma.sql`
    SELECT active, inactive, total, CASE WHEN ${offset}::int <= total / 2
      THEN ARRAY(SELECT id FROM ${source} ORDER BY ${order} ${slice})
      ELSE ARRAY(SELECT id FROM (SELECT ${columns} FROM ${source} ORDER BY ${reverse}
        LIMIT greatest(least(${limit}::int, total - ${offset}::int), 0)
        OFFSET greatest(total - ${offset}::int - ${limit}::int, 0)) AS far ORDER BY ${order}) END AS ids
    FROM (${list.counts}) AS counts, LATERAL (SELECT ${totalOf(isActive)} AS total) AS known`;
  const [found] = await db.of(tenantId).rows<CatalogPage<Row>>`
    WITH asked AS (SELECT ${tenantId}::text AS tenant_id, ${[...list.first]}::uuid[] AS first)
    SELECT page.active, page.inactive, page.total, (SELECT coalesce(json_agg(${list.element} ORDER BY place), '[]')
      FROM ${identifier(list.table)} AS shown JOIN unnest(page.ids) WITH ORDINALITY AS of_page(id, place)
        ON shown.tenant_id = ${tenantId} AND shown.id = of_page.id) AS rows
    FROM (${selected}) AS page`;
  if (!found) throw new Error('the tenant has no row');
  return found;
}

const stateOf = (isActive: boolean | undefined): Prisma.Sql[] =>
  isActive === undefined ? [] : [isActive ? Prisma.sql`listed.is_active` : Prisma.sql`NOT listed.is_active`];

function totalOf(isActive: boolean | undefined): Prisma.Sql {
  if (isActive === undefined) return Prisma.sql`active + inactive`;
  return isActive ? Prisma.sql`active` : Prisma.sql`inactive`;
}

/** The source and conditions of a search. Keys have three characters, so shorter words scan an index of all names. */
function searchOf(tenantId: string, { table, searched, isNarrow }: CatalogList, { search }: Filter) {
  const whole = Prisma.raw(table);
  const words = searchWords(search);
  if (words.length === 0) return { source: whole, conditions: [] };
  const [one, other] = searched.map((column) => Prisma.raw(column));
  // Use one condition for any number of words, so that the text of the statement is constant. Words have no line break.
  const patterns = words.map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const conditions = [Prisma.sql`(${one} || E'\n' || ${other}) LIKE ALL (${patterns}::text[])`];
  const parts = words.flatMap(partsOf);
  if (isNarrow || parts.length === 0) return { source: whole, conditions };
  // Search keys include the tenant. OFFSET 0 keeps the planner from also scanning an index of all the tenant's rows.
  const source = Prisma.sql`(SELECT * FROM ${whole}
    WHERE search_keys(tenant_id, ${one}, ${other}) @> search_keys(${tenantId}, VARIADIC ${parts}::text[]) OFFSET 0)`;
  return { source, conditions };
}

/** Splits a word into adjacent trigrams and its last one: overlapping ones find the same rows, but cost index reads. */
const partsOf = (word: string): string[] => [...(word.match(/.{3}/gsu) ?? []), ...(word.match(/.{3}$/su) ?? [])];

const sortColumns = { name: 'name_key', sku: 'sku_key', createdAt: 'created_at', updatedAt: 'updated_at' } as const;

/** The order of a list; ties: newest first, then smaller id. An index has each order, for both directions. */
function orderOf({ sort_by, sort_order }: Filter) {
  const ties = sort_by === 'createdAt' ? [] : [['created_at', 'DESC']];
  const sorts = [[sortColumns[sort_by], sort_order.toUpperCase()], ...ties, ['id', 'ASC']];
  const opposite = (direction = ''): string => (direction === 'ASC' ? 'DESC' : 'ASC');
  return {
    columns: Prisma.raw(sorts.map(([column]) => column).join(', ')),
    order: Prisma.raw(sorts.map((sort) => sort.join(' ')).join(', ')),
    reverse: Prisma.raw(sorts.map(([column, direction]) => `${column} ${opposite(direction)}`).join(', ')),
  };
}
