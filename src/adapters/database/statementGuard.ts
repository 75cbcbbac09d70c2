/**
 * Rejects a statement with a tenant's table for which no condition names the tenant: directly, or by a join.
 * @param tenantId the tenant; null = any parameter counts as the tenant
 * @throws Error naming the tables
 */
export type StatementGuard = (text: string, values: readonly unknown[], tenantId: string | null) => void;

/** Maximum of remembered texts; the service has fewer, but bulk statements differ by the number of their rows. */
const MAX_REMEMBERED = 1_000;

/**
 * Creates a guard. It parses an accepted text again only if the tenant's id has other places among the values.
 * @param tables the tables with rows of tenants, and the table of tenants
 */
export function statementGuard(tables: ReadonlySet<string>): StatementGuard {
  /** For each text, the indexes of the values that were the tenant. */
  const accepted = new Map<string, readonly number[]>();
  return (text, values, tenantId) => {
    const hasTenant = (place: number): boolean => tenantId === null || values[place] === tenantId;
    if (accepted.get(text)?.every(hasTenant)) return;
    const places = new Set<number>();
    const isTenant = (parameter: string): boolean => {
      const place = Number(parameter.slice(1)) - 1;
      if (hasTenant(place)) places.add(place);
      return hasTenant(place);
    };
    const found = tablesWithoutTenant(text, tables, isTenant);
    if (found.length > 0)
      throw new Error(
        `a statement does not name the tenant of ${found.join(', ')} by "=": add that condition (in an INSERT, the column tenant_id), or correct its value, in ${text}`,
      );
    if (accepted.size >= MAX_REMEMBERED) accepted.clear();
    accepted.set(text, [...places]);
  };
}

/** A query in a statement: the statement itself, one in parentheses, or a part of a UNION. */
interface Query {
  /** Tenants' tables by alias. */
  readonly tables: Map<string, string>;
  /** Pairs of aliases whose tenants are compared; a parameter is an alias, too. */
  readonly equal: [string, string][];
}

/** A pair of parentheses. `query` is the query inside them or, if there is none, the query around them. */
interface Group {
  query: Query;
  readonly isQuery: boolean;
  /** Whether table names may follow, as in FROM. */
  isList: boolean;
}

const TOKEN = /'(?:[^']|'')*'|"[^"]+"|\$\d+|\w+|::|\S/g;
const QUERY_START = /^(SELECT|INSERT|UPDATE|DELETE|WITH|VALUES|TABLE)$/;
const LIST_END = /^(WHERE|SET|GROUP|ORDER|LIMIT|RETURNING|FOR|HAVING|WINDOW|VALUES|SELECT)$/;
const NO_ALIAS =
  /^(ON|USING|JOIN|LEFT|RIGHT|INNER|CROSS|NATURAL|FULL|WITH|OFFSET|FETCH|UNION|INTERSECT|EXCEPT|DO|DEFAULT)$/;

/**
 * The tenants' tables of a statement for which no condition of their own query names the tenant: directly, or by a join
 * with a table for which one does. An INSERT names the tenant by a column. Understands only the SQL that the service uses: it
 * ignores OR and NOT, and treats every comparison as a condition.
 * @param isTenant whether a parameter such as `$1` is the tenant
 */
function tablesWithoutTenant(
  text: string,
  tenantTables: ReadonlySet<string>,
  isTenant: (parameter: string) => boolean,
): string[] {
  const tokens = text.match(TOKEN) ?? [];
  const at = (index: number): string => (tokens[index] ?? '').replaceAll('"', '');
  const queries: Query[] = [];
  const newQuery = (): Query => {
    const query = { tables: new Map<string, string>(), equal: [] };
    queries.push(query);
    return query;
  };
  const groups: Group[] = [{ query: newQuery(), isQuery: true, isList: false }];
  const faults: string[] = [];

  for (let index = 0; index < tokens.length; index += 1) {
    const group = groups.at(-1);
    if (!group) throw new Error(`a ")" has no "(": correct ${text}`);
    const [token, next] = [at(index), at(index + 1)];
    if (token === '(') {
      const isQuery = QUERY_START.test(next);
      groups.push({ query: isQuery ? newQuery() : group.query, isQuery, isList: false });
    } else if (token === ')') groups.pop();
    else if (/^(UNION|INTERSECT|EXCEPT)$/.test(token)) Object.assign(group, { query: newQuery(), isList: false });
    else if (LIST_END.test(token)) group.isList = false;

    const isFrom = /^(FROM|USING)$/.test(token) && group.isQuery && at(index - 1) !== 'DISTINCT';
    const isUpdate = token === 'UPDATE' && !/^(FOR|KEY|DO)$/.test(at(index - 1));
    if (isFrom) group.isList = true;
    const isTable =
      isFrom || isUpdate || /^(JOIN|INTO)$/.test(token) || (token === ',' && group.isList && group.isQuery);
    if (isTable && tenantTables.has(next)) {
      const own = at(index + 2) === 'AS' ? at(index + 3) : at(index + 2);
      const isAlias = /^[a-z_]\w*$/i.test(own) && !LIST_END.test(own) && !NO_ALIAS.test(own);
      if (token !== 'INTO') group.query.tables.set(isAlias ? own : next, next);
      else if (!columnsAfter(tokens, index + 2).includes('tenant_id')) faults.push(next);
    }
    if (token === '=') compare(group.query, sideBefore(tokens, index), sideAfter(tokens, index), isTenant);
  }
  return [...faults, ...queries.flatMap(withoutTenant)];
}

/** The names in the next parentheses. */
function columnsAfter(tokens: readonly string[], from: number): string[] {
  const start = tokens.indexOf('(', from);
  return tokens.slice(start, tokens.indexOf(')', start)).map((token) => token.replaceAll('"', ''));
}

/** One side of a comparison: `alias.column`, a column alone, or a parameter. */
type Side = readonly [alias: string, column: string];

const sideBefore = (tokens: readonly string[], at: number): Side =>
  tokens[at - 2] === '.' ? [tokens[at - 3] ?? '', tokens[at - 1] ?? ''] : ['', tokens[at - 1] ?? ''];

const sideAfter = (tokens: readonly string[], at: number): Side =>
  tokens[at + 2] === '.' ? [tokens[at + 1] ?? '', tokens[at + 3] ?? ''] : ['', tokens[at + 1] ?? ''];

/** Records which aliases a comparison gives the same tenant. */
function compare(query: Query, one: Side, other: Side, isTenant: (parameter: string) => boolean): void {
  const [left, right] = [ownersOf(query, one, isTenant), ownersOf(query, other, isTenant)];
  for (const first of left) for (const second of right) query.equal.push([first, second]);
}

/** The aliases whose tenant column this side can be; `$` for the tenant's parameter. */
function ownersOf({ tables }: Query, [alias, column]: Side, isTenant: (parameter: string) => boolean): string[] {
  const name = alias.replaceAll('"', '');
  if (column.startsWith('$')) return isTenant(column) ? ['$'] : [];
  const isKeyOf = (table: string | undefined): boolean =>
    column.replaceAll('"', '') === (table === 'tenant' ? 'id' : 'tenant_id');
  if (name !== '') return isKeyOf(tables.get(name)) ? [name] : [];
  return [...tables].flatMap(([own, table]) => (isKeyOf(table) ? [own] : []));
}

function withoutTenant({ tables, equal }: Query): string[] {
  const named = new Set(['$']);
  for (let size = 0; size < named.size;) {
    size = named.size;
    for (const [one, other] of equal) {
      if (named.has(one)) named.add(other);
      if (named.has(other)) named.add(one);
    }
  }
  return [...tables].flatMap(([alias, table]) => (named.has(alias) ? [] : [table]));
}
