import { canonicalUuid } from '../../transactions/uuid.js';
import { deaScheduleOf, refillFault, type DeaSchedule } from '../deaSchedules.js';
import { clinicKey } from '../storedCatalog.js';
import type { Catalog, CatalogProduct } from './catalogSchema.js';
import { matchRows, nameOf, partsOf } from './matchRows.js';
import type { Change, Kind, Place, Planning, Row } from './matchRows.js';

export type CatalogPlan = Record<Kind, readonly Change[]>;

/** Parts that a file must list completely: stored parts that the file omits are deleted. */
const ownedParts = [
  ['location', 'clinic'],
  ['variant', 'offer'],
  ['prescription', 'product'],
  ['offer', 'product'],
  ['availability', 'product'],
] as const;

/** Compares a valid file with the stored catalog. Reports faults to `planning.fault`. */
export function planCatalog(planning: Planning, catalog: Catalog): CatalogPlan {
  const groups = matchGroups(planning, catalog);
  const plan: CatalogPlan = { ...groups, ...matchProducts(planning, catalog, groups) };
  for (const [part, whole] of ownedParts) {
    const wholes = new Map(plan[whole].map(({ id, pointer }) => [id, pointer]));
    const kept = new Set(plan[part].map(({ id }) => id));
    const omitted = planning.stored[part].flatMap((row): Change[] => {
      const pointer = wholes.get(row.parent);
      return pointer === undefined || kept.has(row.id) ? [] : [{ ...row, pointer, state: 'deleted' }];
    });
    plan[part] = [...plan[part], ...omitted];
    // Update a row whose parts have changed, so that its updatedAt changes, too.
    const touched = new Set(plan[part].filter(({ state }) => state !== 'unchanged').map(({ parent }) => parent));
    plan[whole] = plan[whole].map((change) =>
      change.state === 'unchanged' && touched.has(change.id) ? { ...change, state: 'updated' } : change,
    );
  }
  return plan;
}

function matchGroups(planning: Planning, catalog: Catalog) {
  const root = [{ element: catalog, pointer: '', id: '' }];
  const clinics = partsOf(root, 'clinics', (all) => all.clinics);
  const clinic = matchRows(planning, 'clinic', clinics, ({ element }) => ({ key: clinicKey(element) }));
  for (const { element, pointer } of clinic) {
    const primaries = element.locations.filter(({ isPrimary }) => isPrimary).length;
    if (element.locations.length > 0 && primaries !== 1) {
      planning.fault(`${pointer}/locations`, 'need exactly one element whose isPrimary is true');
    }
  }
  const locations = partsOf(clinic, 'locations', (whole) => whole.locations);
  const location = matchRows(planning, 'location', locations, ({ element: { name, state }, parent }) => {
    return { key: name, state: state.toUpperCase(), clinicId: parent };
  });
  // A unique index allows one primary location for each clinic: write the others first.
  location.sort((a, b) => Number(a.element.isPrimary) - Number(b.element.isPrimary));
  const categories = partsOf(root, 'categories', (all) => all.categories);
  const category = matchRows(planning, 'category', categories, ({ element }) => ({ key: element.categoryName }));
  const subcategories = partsOf(category, 'subcategories', (whole) => whole.subcategories);
  const subcategory = matchRows(planning, 'subcategory', subcategories, ({ element, parent }) => {
    return { key: element.subCategoryName, categoryId: parent };
  });
  const pharmacies = partsOf(root, 'pharmacies', (all) => all.pharmacies);
  const pharmacy = matchRows(planning, 'pharmacy', pharmacies, ({ element }) => ({ key: element.name }));
  const used = new Set(catalog.products.map((product) => product.pharmacy));
  for (const { state, key, pointer } of pharmacy) {
    // A new pharmacy must be used by a product, because only products store pharmacies.
    if (state === 'created' && !used.has(key))
      planning.fault(pointer, 'is new, but no product in this file has it: add a product, or leave it out');
  }
  return { clinic, location, category, subcategory, pharmacy };
}

type Groups = ReturnType<typeof matchGroups>;

function matchProducts(planning: Planning, catalog: Catalog, groups: Groups) {
  const references = referencesTo(planning, groups);
  const places = partsOf([{ element: catalog, pointer: '', id: '' }], 'products', ({ products }) => products);
  const product = matchRows(planning, 'product', places, (place) => {
    const { sku: key, productId: externalCode, pharmacy: pharmacyName } = place.element;
    const synchronousOnly = place.element.synchronousOnly || scheduleOf(place.element.productRx) !== null;
    return { key, externalCode, pharmacyName, synchronousOnly, ...references.ofProduct(place) };
  });
  const prescriptions = product.flatMap(({ element: { productRx: element }, pointer, id: parent }) =>
    element ? [{ element, pointer: `${pointer}/productRx`, parent }] : [],
  );
  for (const { element, pointer } of prescriptions) {
    const fault = refillFault(scheduleOf(element), element);
    if (fault !== null) planning.fault(`${pointer}/refills`, fault);
  }
  const offers = product.map(({ element, pointer, id: parent }) => {
    return { element: element.productOffer, pointer: `${pointer}/productOffer`, parent };
  });
  const offer = matchRows(planning, 'offer', offers, ({ parent: productId }) => ({ key: '', productId }));
  const variants = partsOf(offer, 'offerVariants', ({ offerVariants }) => offerVariants);
  const availability = partsOf(product, 'clinicAvailability', ({ clinicAvailability }) => clinicAvailability);
  return {
    product,
    prescription: matchRows(planning, 'prescription', prescriptions, ({ element, parent: productId }) => ({
      key: '',
      productId,
      deaScheduleId: canonicalUuid(element.deaScheduleId),
      quantityUnitOfMeasureId: canonicalUuid(element.quantityUnitOfMeasureId),
      refrigerationTypeId: canonicalUuid(element.refrigerationTypeId),
    })),
    offer,
    variant: matchRows(planning, 'variant', variants, ({ element, parent }) => {
      return { key: element.sku, productOfferId: parent };
    }),
    availability: matchRows(planning, 'availability', availability, (place) => {
      const clinicId = references.clinicOf(place);
      return { key: clinicId, clinicId, productId: place.parent };
    }),
  };
}

function scheduleOf(rx: CatalogProduct['productRx']): DeaSchedule | null {
  return deaScheduleOf(rx && { deaScheduleId: canonicalUuid(rx.deaScheduleId) });
}

/** Resolves the names in products to rows of the catalog as it will be after the import. */
function referencesTo({ stored, fault }: Planning, groups: Groups) {
  const clinics = new Map<string, Set<string>>();
  for (const { id, key } of merged(stored.clinic, groups.clinic)) {
    for (const name of [id, ...key.split('\n')]) clinics.set(name, (clinics.get(name) ?? new Set()).add(id));
  }
  const idsOf = (kind: 'pharmacy' | 'category' | 'subcategory') =>
    new Map(merged(stored[kind], groups[kind]).map((row) => [nameOf(row), row.id]));
  const ids = { pharmacy: idsOf('pharmacy'), category: idsOf('category'), subcategory: idsOf('subcategory') };
  return {
    ofProduct({ element, pointer }: Place<CatalogProduct>) {
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
        subcategoryId: categoryId && idOf('subcategory', "of the product's category", categoryId),
      };
    },
    clinicOf({ element: { clinic }, pointer }: Place<{ readonly clinic: string }>): string {
      const [id, ...others] = clinics.get(clinic.toLowerCase()) ?? [];
      if (id !== undefined && others.length === 0) return id;
      const unknown = 'is not the legal name, e-mail or id of a clinic of this file or of the stored catalog';
      fault(`${pointer}/clinic`, id ? `names ${others.length + 1} clinics: give the id of one` : unknown);
      // Use the pointer as the id: with the name as the id, a repeated name would be reported as a duplicate, too.
      return pointer;
    },
  };
}

/** The rows as they will be after the import: the file's elements replace the stored rows that they match. */
function merged(stored: readonly Row[], matches: readonly Row[]): Row[] {
  const found = new Set(matches.map(({ id }) => id));
  return [...stored.filter(({ id }) => !found.has(id)), ...matches];
}
