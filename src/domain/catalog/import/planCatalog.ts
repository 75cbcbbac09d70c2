import { canonicalUuid } from '../../values/uuid.js';
import { clinicKey, storedRows, type StoredCatalog } from '../storedCatalog.js';
import type { Catalog, CatalogProduct, CatalogTreatment } from './catalogSchema.js';
import { matchRows, nameOf, partsOf } from './matchRows.js';
import type { Change, Kind, Match, Place, Planning, Row } from './matchRows.js';

export type CatalogPlan = Record<Kind, readonly Change[]>;

/** The file lists all parts of these elements: a stored one that it omits is deleted. */
const ownedParts = [
  ['location', 'clinic'],
  ['variant', 'offer'],
  ['prescription', 'product'],
  ['offer', 'product'],
  ['availability', 'product'],
] as const;

/**
 * Decides what an import writes, by comparing a valid file with what is stored. What the file names is afterwards as
 * the file says, the rest stays. Faults go to `planning.fault`.
 */
export function planCatalog(planning: Planning, catalog: Catalog, storedCatalog: StoredCatalog): CatalogPlan {
  const stored = storedRows(storedCatalog);
  const groups = matchGroups(planning, catalog, stored);
  const plan: CatalogPlan = { ...groups, ...matchProducts(planning, catalog, stored, groups) };
  for (const [part, whole] of ownedParts) {
    const wholes = new Map(plan[whole].map(({ id, pointer }) => [id, pointer]));
    const kept = new Set(plan[part].map(({ id }) => id));
    const omitted = stored[part].flatMap((row): Change[] => {
      const pointer = wholes.get(row.parent);
      return pointer === undefined || kept.has(row.id) ? [] : [{ ...row, pointer, state: 'deleted' }];
    });
    plan[part] = [...plan[part], ...omitted];
    // Bump updatedAt of a parent whose children changed.
    const touched = new Set(plan[part].filter(({ state }) => state !== 'unchanged').map(({ parent }) => parent));
    plan[whole] = plan[whole].map((change) =>
      change.state === 'unchanged' && touched.has(change.id) ? { ...change, state: 'updated' } : change,
    );
  }
  return { ...plan, product: [...plan.product, ...deletions(planning, catalog, storedCatalog)] };
}

/** Clinics, and what products are grouped by. */
function matchGroups(planning: Planning, catalog: Catalog, stored: Stored) {
  const match: MatchKind = (kind, places, describe) => matchRows(planning, kind, places, stored[kind], describe);
  const root = [{ element: catalog, pointer: '', id: '' }];
  const clinics = partsOf(root, 'clinics', (all) => all.clinics);
  const clinic = match('clinic', clinics, ({ element }) => ({ key: clinicKey(element) }));
  const locations = partsOf(clinic, 'locations', (whole) => whole.locations);
  const location = match('location', locations, ({ element: { name, state }, parent }) => ({
    key: name,
    state: state.toUpperCase(),
    clinicId: parent,
  }));
  // A clinic never has two primary locations, not even while they are written (unique index).
  location.sort((a, b) => Number(a.element.isPrimary) - Number(b.element.isPrimary));
  const categories = partsOf(root, 'categories', (all) => all.categories);
  const category = match('category', categories, ({ element }) => ({ key: element.categoryName }));
  const subcategories = partsOf(category, 'subcategories', (whole) => whole.subcategories);
  const subcategory = match('subcategory', subcategories, ({ element, parent }) => ({
    key: element.subCategoryName,
    categoryId: parent,
  }));
  const pharmacies = partsOf(root, 'pharmacies', (all) => all.pharmacies);
  const pharmacy = match('pharmacy', pharmacies, ({ element }) => ({ key: element.name }));
  const used = new Set(catalog.products.map((product) => (product.isDeleted ? undefined : product.pharmacy)));
  for (const { state, key, pointer } of pharmacy) {
    // A new one is stored with the products that name it.
    if (state === 'created' && !used.has(key)) planning.fault(pointer, 'is the pharmacy of no product in this file');
  }
  return { clinic, location, category, subcategory, pharmacy };
}

type Stored = ReturnType<typeof storedRows>;
type Groups = ReturnType<typeof matchGroups>;
type MatchKind = <Element extends { readonly id?: string }>(
  kind: Kind,
  places: readonly Place<Element>[],
  describe: (place: Place<Element>) => { readonly key: string },
) => Match<Element>[];

function matchProducts(planning: Planning, catalog: Catalog, stored: Stored, groups: Groups) {
  const references = referencesTo(planning, stored, groups);
  const match: MatchKind = (kind, places, describe) => matchRows(planning, kind, places, stored[kind], describe);
  const places = partsOf([{ element: catalog, pointer: '', id: '' }], 'products', ({ products }) => products);
  const product = match('product', places.filter(isTreatment), (place) => ({
    key: place.element.sku,
    externalCode: place.element.productId,
    pharmacyName: place.element.pharmacy,
    ...references.ofProduct(place),
  }));
  const rxs = product.flatMap(({ element: { productRx: element }, pointer, id: parent }) =>
    element ? [{ element, pointer: `${pointer}/productRx`, parent }] : [],
  );
  const offers = product.map(({ element, pointer, id: parent }) => {
    return { element: element.productOffer, pointer: `${pointer}/productOffer`, parent };
  });
  const offer = match('offer', offers, ({ parent: productId }) => ({ key: '', productId }));
  const variants = partsOf(offer, 'offerVariants', ({ offerVariants }) => offerVariants);
  const availability = partsOf(product, 'clinicAvailability', ({ clinicAvailability }) => clinicAvailability);
  return {
    product,
    prescription: match('prescription', rxs, ({ element, parent: productId }) => ({
      key: '',
      productId,
      deaScheduleId: canonicalUuid(element.deaScheduleId),
      quantityUnitOfMeasureId: canonicalUuid(element.quantityUnitOfMeasureId),
      refrigerationTypeId: canonicalUuid(element.refrigerationTypeId),
    })),
    offer,
    variant: match('variant', variants, ({ element, parent }) => ({ key: element.sku, productOfferId: parent })),
    availability: match('availability', availability, (place) => {
      const clinicId = references.clinicOf(place);
      return { key: clinicId, clinicId, productId: place.parent };
    }),
  };
}

function isTreatment(place: Place<CatalogProduct>): place is Place<CatalogTreatment> {
  return !place.element.isDeleted;
}

/** Finds what products refer to, as it will be stored after the import. */
function referencesTo({ fault }: Planning, stored: Stored, groups: Groups) {
  const clinics = new Map<string, Set<string>>();
  for (const { id, key } of merged(stored.clinic, groups.clinic)) {
    for (const name of [id, ...key.split('\n')]) clinics.set(name, (clinics.get(name) ?? new Set()).add(id));
  }
  const idsOf = (kind: 'pharmacy' | 'category' | 'subcategory') =>
    new Map(merged(stored[kind], groups[kind]).map((row) => [nameOf(row), row.id]));
  const ids = { pharmacy: idsOf('pharmacy'), category: idsOf('category'), subcategory: idsOf('subcategory') };
  return {
    ofProduct({ element, pointer }: Place<CatalogTreatment>) {
      const idOf = (kind: keyof typeof ids, where: string, parent = ''): string => {
        const id = ids[kind].get(nameOf({ parent, key: element[kind] }));
        if (id === undefined) fault(`${pointer}/${kind}`, `is not a ${kind} ${where}`);
        return id ?? '';
      };
      const pharmacyId = idOf('pharmacy', 'of this file or of the stored catalog');
      const categoryId = idOf('category', 'of this file or of the stored catalog');
      return {
        pharmacyId,
        categoryId,
        subcategoryId: categoryId && idOf('subcategory', 'of that category', categoryId),
      };
    },
    clinicOf({ element: { clinic }, pointer }: Place<{ readonly clinic: string }>): string {
      const [id, ...others] = clinics.get(clinic.toLowerCase()) ?? [];
      const unknown = 'is not the legal name, e-mail or id of a clinic of this file or of the stored catalog';
      if (id === undefined) fault(`${pointer}/clinic`, unknown);
      if (others.length > 0) {
        fault(`${pointer}/clinic`, `is the name of ${others.length + 1} clinics: give the id of one of them`);
      }
      // A name that is unknown or not unique stays as it is, so that its repetition is not a second fault.
      return id ?? clinic;
    },
  };
}

/** What will be stored after the import: the matches in place of the rows that they found. */
function merged(stored: readonly Row[], matches: readonly Row[]): Row[] {
  const found = new Set(matches.map(({ id }) => id));
  return [...stored.filter(({ id }) => !found.has(id)), ...matches];
}

/** The products that the file deletes. */
function deletions({ fault }: Planning, { products }: Catalog, stored: StoredCatalog): Change[] {
  const deleted = new Set(stored.products.filter(({ isDeleted }) => isDeleted).map(({ sku }) => sku));
  const live = new Map(stored.products.filter(({ isDeleted }) => !isDeleted).map(({ sku, id }) => [sku, id]));
  return products.flatMap(({ id: given, sku, isDeleted }, index): Change[] => {
    if (!isDeleted) return [];
    const pointer = `/products/${index}`;
    const id = live.get(sku);
    if (id === undefined && !deleted.has(sku)) fault(`${pointer}/sku`, 'is the sku of no stored product');
    if (id !== undefined && given !== undefined && canonicalUuid(given) !== id) {
      fault(`${pointer}/id`, `contradicts the stored product of this sku, which has the id ${id}`);
    }
    const state = id === undefined ? 'unchanged' : 'deleted';
    return [{ pointer, id: id ?? '', parent: '', key: sku, columns: {}, state }];
  });
}
