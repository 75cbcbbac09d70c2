import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { identifier } from '../transactions/bulkSql.js';

type Filter = Input<'listClinics' | 'listProducts'>['query'];

/** A catalog list in SQL, whose table has the alias `listed`. Table and column names are constants, never input. */
interface CatalogList {
  readonly table: 'clinic' | 'product';
  /** The conditions for rows of the list, other than tenant, isActive and search. */
  readonly conditions: readonly Prisma.Sql[];
  /** Selects an element with its parts as JSON; its table has the alias `shown`. */
  readonly element: Prisma.Sql;
  /** Ids of clinics whose availability an element shows first; `element` reads them as `asked.first`. */
  readonly first: readonly string[];
  /** The columns that a search reads; a trigram index has both. */
  readonly searched: readonly [string, string];
  /** Whether to count the list; if not, `total` is 0, and the caller computes it. */
  readonly isCounted: boolean;
  /** Further columns to select, beginning with a comma. */
  readonly more: Prisma.Sql;
}

interface CatalogPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Reads a page by one statement: the ids first, then their rows. */
export async function readPage<Row, More = unknown>(
  { db, caller }: Context,
  { table, conditions, element, first, searched, isCounted, more }: CatalogList,
  filter: Filter,
): Promise<CatalogPage<Row> & More> {
  const { tenantId } = caller;
  const { isActive, search, limit, page } = filter;
  const words = searchWords(search);
  const all = [
    Prisma.sql`listed.tenant_id = ${tenantId}`,
    ...conditions,
    ...(isActive === undefined ? [] : [isActive ? Prisma.sql`listed.is_active` : Prisma.sql`NOT listed.is_active`]),
    ...(words.length === 0 ? [] : matching(words, searched)),
  ];
  const sorts = sortsOf(filter);
  const columns = Prisma.raw(sorts.map(([column]) => column).join(', '));
  const order = Prisma.raw(sorts.map((sort) => sort.join(' ')).join(', '));
  const total = isCounted ? Prisma.sql`(SELECT count(*)::int FROM found)` : Prisma.sql`0`;
  // Materialize the matches of a search: otherwise PostgreSQL scans the sorted list, which is slow if few rows match.
  const isSorted = Prisma.raw(words.length > 0 ? 'MATERIALIZED' : 'NOT MATERIALIZED');
  return db.of(tenantId).row<CatalogPage<Row> & More>`
    WITH asked AS (SELECT ${tenantId}::text AS tenant_id, ${[...first]}::uuid[] AS first),
    found AS ${isSorted} (SELECT ${columns} FROM ${identifier(table)} AS listed WHERE ${Prisma.join(all, ' AND ')})
    SELECT ${total} AS total, (SELECT coalesce(json_agg(${element} ORDER BY ${order}), '[]')
      FROM ${identifier(table)} AS shown WHERE shown.tenant_id = ${tenantId} AND shown.id = ANY (ARRAY(
        SELECT id FROM found ORDER BY ${order} LIMIT ${limit} OFFSET ${(page - 1) * limit}))) AS rows ${more}`;
}

/**
 * The words of a search, split at white space and punctuation; a search of punctuation alone is split at white space
 * only (R-22). Lower-cases each character alone, as PostgreSQL does: in a text, JavaScript turns a final Σ into ς.
 */
function searchWords(search: string | undefined): string[] {
  const text = Array.from(search?.trim() ?? '', (character) => character.toLowerCase()).join('');
  const wordsBetween = (separator: RegExp) => [...new Set(text.split(separator))].filter((word) => word !== '');
  const words = wordsBetween(/[\s\p{P}]+/u);
  return words.length > 0 ? words : wordsBetween(/\s+/u);
}

/** Maximum of words that a search looks up in the index, so that there are few different statements to prepare. */
const MAX_INDEXED = 3;

/**
 * Conditions for rows that contain all words. The index finds the longest words, but none without three letters or
 * digits in a row: a search for only such words reads all names of the tenant.
 */
function matching(words: readonly string[], searched: CatalogList['searched']): Prisma.Sql[] {
  // Join the columns by a line break, which no word contains: a match then lies in one column.
  const text = Prisma.raw(`(${searched.join(` || E'\\n' || `)})`);
  const patternOf = (word: string): string => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const indexed = words.filter((word) => /[\p{L}\d]{3}/u.test(word)).toSorted((a, b) => b.length - a.length);
  return [
    ...indexed.slice(0, MAX_INDEXED).map((word) => Prisma.sql`${text} LIKE ${patternOf(word)}`),
    Prisma.sql`${text} LIKE ALL (${words.map(patternOf)}::text[])`,
  ];
}

const sortColumns = { name: 'name_key', sku: 'sku_key', createdAt: 'created_at', updatedAt: 'updated_at' } as const;

/** The order of a list; ties: newest first, then smaller id (R-21). An index supports each order. */
function sortsOf({ sort_by, sort_order }: Filter): [column: string, direction: string][] {
  const ties: [string, string][] = sort_by === 'createdAt' ? [] : [['created_at', 'DESC']];
  return [[sortColumns[sort_by], sort_order.toUpperCase()], ...ties, ['id', 'ASC']];
}
