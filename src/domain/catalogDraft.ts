import { matchRows, type Candidate, type Match, type Matching, type StoredRow } from './catalogMatch.js';

export type CatalogTable =
  | 'clinic'
  | 'clinic_location'
  | 'category'
  | 'subcategory'
  | 'product'
  | 'product_rx'
  | 'product_offer'
  | 'offer_variant'
  | 'clinic_availability';

/** What is to be written to one table. Rows are named as in the Prisma schema; creates hold every column. */
export interface TableChange {
  readonly table: CatalogTable;
  readonly creates: readonly object[];
  readonly updates: readonly object[];
  /** Ids. */
  readonly deletes: readonly string[];
}

/** An import in the making: what it is going to write, in the order in which the database can take it. */
export interface Draft extends Matching {
  readonly tenantId: string;
  readonly now: Date;
  readonly changes: TableChange[];
  /** Ids that the file gives to new rows: they must be free. */
  readonly fixedIds: { readonly table: CatalogTable; readonly id: string; readonly pointer: string }[];
}

export interface Counts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
}

/** Notes what the matches want written, and says how many rows that makes. */
export function addChange(
  draft: Draft,
  table: CatalogTable,
  matches: readonly Match<object>[],
  deletes: readonly string[] = [],
): Counts {
  const { tenantId, now } = draft;
  const times = { createdAt: now, updatedAt: now };
  const inState = (state: Match<object>['state']) => matches.filter((match) => match.state === state);
  const created = inState('created');
  const updated = inState('updated');
  draft.changes.push({
    table,
    creates: created.map(({ id, candidate }) => ({ id, tenantId, ...candidate.row, ...times })),
    updates: updated.map(({ id, candidate }) => ({ id, ...candidate.row, updatedAt: now })),
    deletes,
  });
  for (const { id, candidate } of created) {
    if (candidate.id !== undefined) draft.fixedIds.push({ table, id, pointer: `${candidate.pointer}/id` });
  }
  const unchanged = matches.length - created.length - updated.length;
  return { created: created.length, updated: updated.length, deleted: deletes.length, unchanged };
}

/** Rows that hang on others. The file says all of them: a stored one that it leaves out goes. */
export function matchParts<Row extends object>(
  draft: Draft,
  kind: string,
  candidates: readonly Candidate<Row>[],
  stored: readonly StoredRow[],
): { matches: Match<Row>[]; deletes: string[]; touched: Set<string> } {
  const matches = matchRows(draft, kind, candidates, stored);
  const kept = new Set(matches.map(({ id }) => id));
  const removed = stored.filter(({ id }) => !kept.has(id));
  const changed = matches.filter(({ state }) => state !== 'unchanged');
  const touched = new Set([
    ...changed.map(({ candidate }) => candidate.parent),
    ...removed.map(({ parent }) => parent),
  ]);
  return { matches, deletes: removed.map(({ id }) => id), touched };
}

/** A row whose parts change is itself new to whoever lists by updatedAt. */
export function touch<Row extends object>(matches: readonly Match<Row>[], touched: ReadonlySet<string>): Match<Row>[] {
  return matches.map((match) =>
    match.state === 'unchanged' && touched.has(match.id) ? { ...match, state: 'updated' } : match,
  );
}

/** What will be stored after the import: the matches in place of the rows that they found. */
export function merged(stored: readonly StoredRow[], matches: readonly Match<object>[]): StoredRow[] {
  const found = new Set(matches.map(({ id }) => id));
  return [...stored.filter(({ id }) => !found.has(id)), ...matches.map(({ id, candidate }) => ({ ...candidate, id }))];
}
