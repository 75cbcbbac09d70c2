import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../../generated/prisma/client.js';
import { canonicalUuid } from './canonicalUuid.js';

/** What an element of the file wants to be stored. */
export interface Candidate<Row extends object> {
  /** JSON pointer of the element. */
  readonly pointer: string;
  /** As given in the file. */
  readonly id: string | undefined;
  /** Identifies the element among its siblings: its name, sku, … */
  readonly key: string;
  /** Id of the row that it belongs to; '' for the tenant. */
  readonly parent: string;
  readonly row: Row;
}

/** A row that is stored already; `row` has at least a candidate's columns. */
export interface StoredRow {
  readonly id: string;
  readonly key: string;
  readonly parent: string;
  readonly row: object;
}

/** A candidate that has found its id. */
export interface Match<Row extends object> {
  readonly candidate: Candidate<Row>;
  readonly id: string;
  readonly state: 'created' | 'updated' | 'unchanged';
}

export interface Matching {
  newId(): string;
  fault(pointer: string, message: string): void;
}

/**
 * Finds the stored row of each candidate: by its id when it has one (so that a row can be renamed), else by its key.
 * Reports ids that contradict what is stored, and two candidates for one row; they get an id all the same, so that
 * the elements inside them are checked too.
 * @param kind what to call a row in a message
 */
export function matchRows<Row extends object>(
  { newId, fault }: Matching,
  kind: string,
  candidates: readonly Candidate<Row>[],
  stored: readonly StoredRow[],
): Match<Row>[] {
  const place = (parent: string, key: string): string => JSON.stringify([parent, key]);
  const byId = new Map(stored.map((row) => [row.id, row]));
  const byKey = new Map(stored.map((row) => [place(row.parent, row.key), row]));
  const takenBy = new Map<string, string>();
  return candidates.map((candidate) => {
    const { pointer, parent, key, row } = candidate;
    const given = candidate.id === undefined ? undefined : canonicalUuid(candidate.id);
    const named = byKey.get(place(parent, key));
    const found = given === undefined ? named : byId.get(given);
    const other = takenBy.get(found?.id ?? given ?? '') ?? takenBy.get(place(parent, key));
    if (given !== undefined && named && named.id !== given) {
      fault(`${pointer}/id`, `contradicts the stored ${kind} of this name, which has the id ${named.id}`);
    } else if (found && found.parent !== parent) {
      fault(`${pointer}/id`, `is the id of a ${kind} that belongs elsewhere in this tenant's catalog`);
    } else if (other !== undefined) {
      fault(pointer, `is the same ${kind} as ${other}`);
    }
    // The second of two for one row goes on as a new one: what hangs on it is not a fault of its own.
    const id = other === undefined ? (found?.id ?? given ?? newId()) : newId();
    takenBy.set(id, pointer).set(place(parent, key), pointer);
    const state = !found ? 'created' : sameColumns(row, found.row) ? 'unchanged' : 'updated';
    return { candidate, id, state };
  });
}

/** Whether the stored row has every value of the wanted one; money is compared as money, JSON without its order. */
function sameColumns(wanted: object, stored: object): boolean {
  return Object.entries(wanted).every(([column, value]: [string, unknown]) => {
    const present: unknown = Reflect.get(stored, column);
    return isDeepStrictEqual(Prisma.Decimal.isDecimal(present) ? present.toFixed(2) : present, value);
  });
}
