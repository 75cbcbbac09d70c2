import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../../../../generated/prisma/client.js';
import { canonicalUuid } from '../../transactions/uuid.js';

/** The tables of a catalog, in an order in which each refers only to earlier ones. */
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

/** The kinds of rows. Pharmacies have no table, because products hold their ids and names. */
export type Kind = (typeof tables)[number]['kind'] | 'pharmacy';

export interface Place<Element> {
  readonly element: Element;
  /** JSON pointer to the element in the file. */
  readonly pointer: string;
  /** Id of the row to which the element belongs; '' for the tenant. */
  readonly parent: string;
}

export interface Row {
  readonly id: string;
  readonly parent: string;
  readonly key: string;
  /** Values by the names of the Prisma schema. */
  readonly columns: object;
}

/** A change of a row, with the columns that the file sets, or of a deleted row the stored ones. */
export interface Change extends Row {
  /** JSON pointer to the element; for a part that the file omits, to the element to which the part belongs. */
  readonly pointer: string;
  readonly state: 'created' | 'updated' | 'deleted' | 'unchanged';
}

export type Match<Element> = Place<Element> & Change;

export interface Planning {
  readonly stored: Readonly<Record<Kind, readonly Row[]>>;
  newId(): string;
  fault(pointer: string, message: string): void;
}

/** Finds the stored row of each element, by id or key. @param describe gives the key, and columns to add or convert */
export function matchRows<Element extends { readonly id?: string }>(
  { stored, newId, fault }: Planning,
  kind: Kind,
  places: readonly Place<Element>[],
  describe: (place: Place<Element>) => { readonly key: string },
): Match<Element>[] {
  const byId = new Map(stored[kind].map((row) => [row.id, row]));
  const byName = new Map(stored[kind].map((row) => [nameOf(row), row]));
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
      fault(
        `${pointer}/id`,
        `differs from the id ${named.id} under which this ${kind} is stored: use that id, or leave it out`,
      );
    } else if (found && found.parent !== parent) {
      fault(
        `${pointer}/id`,
        `is the id of a ${kind} that belongs elsewhere in this tenant's catalog: use another id, or leave it out`,
      );
    } else if (other !== undefined) {
      fault(pointer, `is the same ${kind} as ${other}`);
    }
    // Give a duplicate a new id; otherwise its parts would be reported as duplicates, too.
    const id = other === undefined ? (found?.id ?? given ?? newId()) : newId();
    takenBy.set(id, pointer).set(name, pointer);
    const state = !found ? 'created' : hasColumns(found.columns, columns) ? 'unchanged' : 'updated';
    return { ...place, id, key, columns, state };
  });
}

/** The members of an element that are columns of its table, without the id. */
function columnsOf(kind: Kind, element: object): object {
  const columns = tables.find((table) => table.kind === kind)?.columns ?? { name: 'name' };
  return Object.fromEntries(Object.entries(element).filter(([name]) => name !== 'id' && name in columns));
}

/** Whether a stored row has all these values. Compares money as numbers and ignores the order of JSON members. */
function hasColumns(stored: object, wanted: object): boolean {
  return Object.entries(wanted).every(([column, value]: [string, unknown]) => {
    const present: unknown = Reflect.get(stored, column);
    return Prisma.Decimal.isDecimal(present) ? present.equals(String(value)) : isDeepStrictEqual(present, value);
  });
}

export function nameOf({ parent, key }: Pick<Row, 'parent' | 'key'>): string {
  return `${parent} ${key}`;
}

/** The parts of several elements (`wholes`), such as the locations of all clinics, with their places in the file. */
export function partsOf<Whole, Part>(
  wholes: readonly { readonly element: Whole; readonly pointer: string; readonly id: string }[],
  name: string,
  list: (whole: Whole) => readonly Part[],
): Place<Part>[] {
  return wholes.flatMap(({ element: whole, pointer, id: parent }) =>
    list(whole).map((element, index) => ({ element, pointer: `${pointer}/${name}/${index}`, parent })),
  );
}
