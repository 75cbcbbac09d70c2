import type { Catalog, CatalogClinic, CatalogTreatment } from './catalog.js';
import { addChange, matchParts, merged, touch, type Counts, type Draft } from './catalogDraft.js';
import { matchRows, type Candidate } from './catalogMatch.js';
import { planProducts, subcategoryKey } from './catalogProductPlan.js';
import { categoryRow, clinicRow, locationRow } from './catalogRows.js';
import { clinicKey, type StoredCatalog } from './catalogStored.js';

/** How many elements of each kind an import found in which state. */
export interface CatalogReport {
  readonly clinics: Counts;
  readonly pharmacies: Counts;
  readonly categories: Counts;
  readonly subcategories: Counts;
  readonly products: Counts;
}

export interface RenamedPharmacy {
  readonly id: string;
  readonly name: string;
}

/**
 * Decides what an import writes, by comparing a valid file with what is stored. Writes nothing; faults go to
 * `draft.fault`, changes to `draft.changes`. What the file names is afterwards as the file says; the rest stays.
 */
export function planCatalog(
  draft: Draft,
  catalog: Catalog,
  stored: StoredCatalog,
): { report: CatalogReport; renamedPharmacies: RenamedPharmacy[] } {
  const clinics = planClinics(draft, catalog.clinics, stored);
  const categories = planCategories(draft, catalog, stored);
  const pharmacies = planPharmacies(draft, catalog, stored);
  const names = { ...categories.names, clinics: clinics.names, pharmacies: pharmacies.names };
  const products = planProducts(draft, catalog.products, stored, names);
  return {
    report: {
      clinics: clinics.counts,
      pharmacies: pharmacies.counts,
      ...categories.counts,
      products,
    },
    renamedPharmacies: pharmacies.renamed,
  };
}

function planClinics(draft: Draft, clinics: readonly CatalogClinic[], stored: StoredCatalog) {
  const candidates = clinics.map((clinic, index): Candidate<ReturnType<typeof clinicRow>> => {
    return { pointer: `/clinics/${index}`, id: clinic.id, key: clinicKey(clinic), parent: '', row: clinicRow(clinic) };
  });
  const matches = matchRows(draft, 'clinic', candidates, stored.clinics);
  const inFile = new Set(matches.map(({ id }) => id));
  const places = matches.flatMap(({ id: parent, candidate }, index) =>
    (clinics[index]?.locations ?? []).map((location, at) => {
      const pointer = `${candidate.pointer}/locations/${at}`;
      return { pointer, id: location.id, key: location.name, parent, row: locationRow(location, parent) };
    }),
  );
  const storedPlaces = stored.locations.filter(({ parent }) => inFile.has(parent));
  const { matches: locations, deletes, touched } = matchParts(draft, 'location', places, storedPlaces);
  const counts = addChange(draft, 'clinic', touch(matches, touched));
  // A clinic never has two primary locations (unique index): first those that are not, or are no longer, primary.
  const isPrimary = ({ candidate }: (typeof locations)[number]): boolean => candidate.row.isPrimary;
  addChange(
    draft,
    'clinic_location',
    locations.filter((match) => !isPrimary(match)),
    deletes,
  );
  addChange(draft, 'clinic_location', locations.filter(isPrimary));
  const names = new Map<string, Set<string>>();
  for (const { id, row } of merged(stored.clinics, matches)) {
    for (const name of [id, Reflect.get(row, 'legalName'), Reflect.get(row, 'email')]) {
      const key = String(name).toLowerCase();
      names.set(key, (names.get(key) ?? new Set()).add(id));
    }
  }
  return { counts, names };
}

function planCategories(draft: Draft, { categories }: Catalog, stored: StoredCatalog) {
  const candidates = categories.map((category, index) => {
    const { id, categoryName: key } = category;
    return { pointer: `/categories/${index}`, id, key, parent: '', row: categoryRow(category) };
  });
  const matches = matchRows(draft, 'category', candidates, stored.categories);
  const parts = matches.flatMap(({ id: parent, candidate }, index) =>
    (categories[index]?.subcategories ?? []).map(({ id, subCategoryName: key }, at) => {
      const pointer = `${candidate.pointer}/subcategories/${at}`;
      return { pointer, id, key, parent, row: { categoryId: parent, subCategoryName: key } };
    }),
  );
  // Unlike other parts they stay when the file leaves them out: products refer to them.
  const subcategories = matchRows(draft, 'subcategory', parts, stored.subcategories);
  return {
    counts: {
      categories: addChange(draft, 'category', matches),
      subcategories: addChange(draft, 'subcategory', subcategories),
    },
    names: {
      categories: new Map(merged(stored.categories, matches).map(({ id, key }) => [key, id])),
      subcategories: new Map(
        merged(stored.subcategories, subcategories).map(({ id, key, parent }) => [subcategoryKey(parent, key), id]),
      ),
    },
  };
}

/** Pharmacies have no table: a new one comes with the products that name it, a renamed one goes to all its products. */
function planPharmacies(draft: Draft, { pharmacies, products }: Catalog, stored: StoredCatalog) {
  const used = new Set(
    products.filter((product): product is CatalogTreatment => !product.isDeleted).map(({ pharmacy }) => pharmacy),
  );
  const candidates = pharmacies.map(({ id, name: key }, index) => ({
    pointer: `/pharmacies/${index}`,
    id,
    key,
    parent: '',
    row: { name: key },
  }));
  const matches = matchRows(draft, 'pharmacy', candidates, stored.pharmacies);
  const inState = (state: string) => matches.filter((match) => match.state === state);
  for (const { candidate } of inState('created')) {
    if (!used.has(candidate.key)) draft.fault(candidate.pointer, 'is the pharmacy of no product in this file');
  }
  const renamed = inState('updated').map(({ id, candidate }) => ({ id, name: candidate.key }));
  const created = inState('created').length;
  const unchanged = matches.length - created - renamed.length;
  return {
    counts: { created, updated: renamed.length, deleted: 0, unchanged },
    renamed,
    names: new Map(merged(stored.pharmacies, matches).map(({ id, key }) => [key, id])),
  };
}
