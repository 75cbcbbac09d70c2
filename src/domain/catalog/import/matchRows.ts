import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../../../../generated/prisma/client.js';
import { canonicalUuid } from '../../values/uuid.js';

/** What a catalog consists of, in the order in which the tables refer to each other. */
export const tables = [
  { kind: 'clinic', table: 'clinic', columns: Prisma.ClinicScalarFieldEnum },
  { kind: 'location', table: 'clinic_location', columns: Prisma.ClinicLocationScalarFieldEnum },
  { kind: 'category', table: 'category', columns: Prisma.CategoryScalarFieldEnum },
  { kind: 'subcategory', table: 'subcategory', columns: Prisma.SubcategoryScalarFieldEnum },
  { kind: 'product', table: 'product', columns: Prisma.ProductScalarFieldEnum },
  { kind: 'prescription', table: 'product_rx', columns: Prisma.ProductRxScalarFieldEnum },
  { kind: 'offer', table: 'product_offer', columns: Prisma.ProductOfferScalarFieldEnum },
  { kind: 'variant', table: 'offer_variant', columns: Prisma.OfferVariantScalarFieldEnum },
  { kind: 'availability', table: 'clinic_availability', columns: Prisma.ClinicAvailabilityScalarFieldEnum },
] as const;

/** There is no table of pharmacies: they are what the products say. */
export type Kind = (typeof tables)[number]['kind'] | 'pharmacy';

/** An element of the file. */
export interface Place<Element> {
  readonly element: Element;
  /** JSON pointer. */
  readonly pointer: string;
  /** Id of the row that it is a part of; '' for the tenant. */
  readonly parent: string;
}

/** A row; without its id it is found by its key among the parts of its parent. */
export interface Row {
  readonly id: string;
  readonly parent: string;
  readonly key: string;
  /** Named as in the Prisma schema. */
  readonly columns: object;
}

/** What becomes of a row. Of its columns it has those that the file decides. */
export interface Change extends Row {
  /** The element of the file; for a part that the file omits, the element that it is a part of. */
  readonly pointer: string;
  readonly state: 'created' | 'updated' | 'deleted' | 'unchanged';
}

/** An element and what becomes of its row. */
export type Match<Element> = Place<Element> & Change;

/** What a plan takes from outside: new ids, and where its faults go. */
export interface Planning {
  newId(): string;
  fault(pointer: string, message: string): void;
}

/**
 * Finds the stored row of each element: by its id if the file gives one (so that a row can be renamed), else by its
 * key. Reports ids that contradict what is stored, and two elements for one row.
 * @param describe the key of an element and the columns that are not its members
 */
export function matchRows<Element extends { readonly id?: string }>(
  { newId, fault }: Planning,
  kind: Kind,
  places: readonly Place<Element>[],
  stored: readonly Row[],
  describe: (place: Place<Element>) => { readonly key: string },
): Match<Element>[] {
  const byId = new Map(stored.map((row) => [row.id, row]));
  const byName = new Map(stored.map((row) => [nameOf(row), row]));
  const takenBy = new Map<string, string>();
  return places.map((place) => {
    const { element, pointer, parent } = place;
    const { key, ...others } = describe(place);
    const columns = { ...columnsOf(kind, element), ...others };
    const name = nameOf({ parent, key });
    const given = element.id === undefined ? undefined : canonicalUuid(element.id);
    const named = byName.get(name);
    const found = given === undefined ? named : byId.get(given);
    const other = takenBy.get(found?.id ?? given ?? '') ?? takenBy.get(name);
    if (given !== undefined && named && named.id !== given) {
      fault(`${pointer}/id`, `contradicts the stored ${kind} of this name, which has the id ${named.id}`);
    } else if (found && found.parent !== parent) {
      fault(`${pointer}/id`, `is the id of a ${kind} that belongs elsewhere in this tenant's catalog`);
    } else if (other !== undefined) {
      fault(pointer, `is the same ${kind} as ${other}`);
    }
    // A duplicate goes on as a new row, so that its parts raise no further faults.
    const id = other === undefined ? (found?.id ?? given ?? newId()) : newId();
    takenBy.set(id, pointer).set(name, pointer);
    const state = !found ? 'created' : hasColumns(found.columns, columns) ? 'unchanged' : 'updated';
    return { ...place, id, key, columns, state };
  });
}

/** The members of an element that are columns of its table. */
function columnsOf(kind: Kind, element: object): object {
  const columns = tables.find((table) => table.kind === kind)?.columns ?? { name: 'name' };
  return Object.fromEntries(Object.entries(element).filter(([name]) => name !== 'id' && name in columns));
}

/** Whether a stored row has all these values; money is compared as money, JSON without its order. */
function hasColumns(stored: object, wanted: object): boolean {
  return Object.entries(wanted).every(([column, value]: [string, unknown]) => {
    const present: unknown = Reflect.get(stored, column);
    return Prisma.Decimal.isDecimal(present) ? present.equals(String(value)) : isDeepStrictEqual(present, value);
  });
}

/** Identifies a row within its tenant and kind. */
export function nameOf({ parent, key }: Pick<Row, 'parent' | 'key'>): string {
  return `${parent} ${key}`;
}

/** The elements of a list that other elements have under this name. */
export function partsOf<Whole, Part>(
  wholes: readonly { readonly element: Whole; readonly pointer: string; readonly id: string }[],
  name: string,
  list: (whole: Whole) => readonly Part[],
): Place<Part>[] {
  return wholes.flatMap(({ element: whole, pointer, id: parent }) =>
    list(whole).map((element, index) => ({ element, pointer: `${pointer}/${name}/${index}`, parent })),
  );
}
