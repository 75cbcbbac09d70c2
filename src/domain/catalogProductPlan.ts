import type { CatalogProduct, CatalogTreatment } from './catalog.js';
import { canonicalUuid } from './canonicalUuid.js';
import { addChange, matchParts, touch, type Counts, type Draft } from './catalogDraft.js';
import { matchRows, type Match } from './catalogMatch.js';
import { offerRow, productRow, rxRow, variantRow, type ProductReferences } from './catalogRows.js';
import type { StoredCatalog } from './catalogStored.js';

/** Ids by name, as they will be after the import. */
export interface CatalogNames {
  /** Legal name, e-mail and id of each clinic, in lower case; several clinics may share a name. */
  readonly clinics: ReadonlyMap<string, ReadonlySet<string>>;
  readonly pharmacies: ReadonlyMap<string, string>;
  readonly categories: ReadonlyMap<string, string>;
  /** By {@link subcategoryKey}. */
  readonly subcategories: ReadonlyMap<string, string>;
}

export const subcategoryKey = (categoryId: string, name: string): string => `${categoryId} ${name}`;

/** A product of the file with its place there and its id. */
interface Placed {
  readonly treatment: CatalogTreatment;
  readonly pointer: string;
  readonly id: string;
}

/** Decides what is written of the products, of all that hangs on them, and of the products that the file deletes. */
export function planProducts(
  draft: Draft,
  products: readonly CatalogProduct[],
  stored: StoredCatalog,
  names: CatalogNames,
): Counts {
  const given = products.flatMap((treatment, index) =>
    treatment.isDeleted ? [] : [{ treatment, pointer: `/products/${index}` }],
  );
  const candidates = given.map(({ treatment, pointer }) => {
    const row = productRow(treatment, referencesOf(draft, pointer, treatment, names));
    return { pointer, id: treatment.id, key: treatment.sku, parent: '', row };
  });
  const matches = matchRows(draft, 'product', candidates, stored.products);
  const placed = given.map((place, at) => ({ ...place, id: matches[at]?.id ?? '' }));
  const parts = matchProductParts(draft, placed, stored, names);
  const counts = addChange(draft, 'product', touch(matches, new Set(parts.flatMap(({ touched }) => [...touched]))));
  for (const { table, matches: rows, deletes } of parts) addChange(draft, table, rows, deletes);
  const deletions = addChange(draft, 'product', matchDeletions(draft, products, stored));
  return { ...counts, deleted: deletions.updated, unchanged: counts.unchanged + deletions.unchanged };
}

function referencesOf(
  draft: Draft,
  pointer: string,
  treatment: CatalogTreatment,
  names: CatalogNames,
): ProductReferences {
  const missing = (member: 'pharmacy' | 'category' | 'subcategory', where: string): string => {
    draft.fault(`${pointer}/${member}`, `is not a ${member} ${where}`);
    return '';
  };
  const anywhere = 'of this file or of the stored catalog';
  const pharmacyId = names.pharmacies.get(treatment.pharmacy) ?? missing('pharmacy', anywhere);
  const categoryId = names.categories.get(treatment.category) ?? missing('category', anywhere);
  const inCategory = categoryId && names.subcategories.get(subcategoryKey(categoryId, treatment.subcategory));
  const subcategoryId = inCategory ?? missing('subcategory', `of that category`);
  return { pharmacyId, categoryId, subcategoryId };
}

/** In the order in which the tables take them. */
function matchProductParts(draft: Draft, placed: readonly Placed[], stored: StoredCatalog, names: CatalogNames) {
  const inFile = new Set(placed.map(({ id }) => id));
  const storedOf = (rows: StoredCatalog['offers']) => rows.filter(({ parent }) => inFile.has(parent));
  const one = { key: '' };
  const prescriptions = placed.flatMap(({ treatment: { productRx: rx }, pointer, id: parent }) =>
    rx === null ? [] : [{ ...one, pointer: `${pointer}/productRx`, id: rx.id, parent, row: rxRow(rx, parent) }],
  );
  const offers = placed.map(({ treatment: { productOffer: offer }, pointer, id: parent }) => ({
    ...one,
    pointer: `${pointer}/productOffer`,
    id: offer.id,
    parent,
    row: offerRow(offer, parent),
  }));
  const matchedOffers = matchParts(draft, 'offer', offers, storedOf(stored.offers));
  const variants = placed.flatMap(({ treatment: { productOffer: offer }, pointer, id: parent }, index) =>
    offer.offerVariants.map((variant, at) => ({
      pointer: `${pointer}/productOffer/offerVariants/${at}`,
      id: variant.id,
      key: variant.sku,
      parent,
      row: variantRow(variant, matchedOffers.matches[index]?.id ?? ''),
    })),
  );
  const availability = placed.flatMap(({ treatment, pointer, id: parent }) =>
    treatment.clinicAvailability.map(({ id, clinic, isActive }, at) => {
      const place = `${pointer}/clinicAvailability/${at}`;
      const clinicId = clinicOf(draft, `${place}/clinic`, clinic, names);
      return { pointer: place, id, key: clinicId, parent, row: { productId: parent, clinicId, isActive } };
    }),
  );
  const match = matchParts;
  return [
    { table: 'product_rx', ...match(draft, 'prescription', prescriptions, storedOf(stored.prescriptions)) },
    { table: 'product_offer', ...matchedOffers },
    { table: 'offer_variant', ...match(draft, 'variant', variants, storedOf(stored.variants)) },
    { table: 'clinic_availability', ...match(draft, 'availability', availability, storedOf(stored.availability)) },
  ] as const;
}

function clinicOf(draft: Draft, pointer: string, clinic: string, { clinics }: CatalogNames): string {
  const [id, ...others] = clinics.get(clinic.toLowerCase()) ?? [];
  if (id === undefined) {
    draft.fault(pointer, 'is not the legal name, e-mail or id of a clinic of this file or of the stored catalog');
  } else if (others.length > 0) {
    draft.fault(pointer, `is the name of ${others.length + 1} clinics: give the id of one of them`);
  }
  // A name that is unknown or not unique stays as it is, so that its repetition is not a second fault.
  return id ?? clinic;
}

function matchDeletions(draft: Draft, products: readonly CatalogProduct[], stored: StoredCatalog): Match<object>[] {
  const bySku = new Map(stored.products.map((row) => [row.key, row]));
  return products.flatMap((product, index): Match<object>[] => {
    if (!product.isDeleted) return [];
    const pointer = `/products/${index}`;
    const found = bySku.get(product.sku);
    if (!found && !stored.deletedSkus.has(product.sku))
      draft.fault(`${pointer}/sku`, 'is the sku of no stored product');
    if (found && product.id !== undefined && canonicalUuid(product.id) !== found.id) {
      draft.fault(`${pointer}/id`, `contradicts the stored product of this sku, which has the id ${found.id}`);
    }
    const candidate = { pointer, id: undefined, key: product.sku, parent: '', row: { isDeleted: true } };
    return [{ candidate, id: found?.id ?? '', state: found ? 'updated' : 'unchanged' }];
  });
}
