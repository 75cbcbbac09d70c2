import { v7 } from 'uuid';
import { decideImport } from '../../../src/domain/catalog/import/importCatalog.js';
import type { JsonFault } from '../../../src/domain/catalog/import/jsonDocument.js';
import { tables } from '../../../src/domain/catalog/import/matchRows.js';
import type { CatalogPlan } from '../../../src/domain/catalog/import/planCatalog.js';
import { readCatalog } from '../../../src/domain/catalog/import/readCatalog.js';

export type Json = Record<string, unknown>;

/** The text of a catalog file, with line breaks so that positions differ. */
export const write = (catalog: unknown): string => JSON.stringify(catalog, null, 2);

/** The text at the position of a fault. */
export const textAt = (text: string, { line, column }: JsonFault): string =>
  (text.split('\n')[line - 1] ?? '').slice(column - 1);

const empty = Object.fromEntries([...tables.map(({ kind }) => kind), 'pharmacy'].map((kind) => [kind, []]));

/** The rows of a catalog as an import leaves them, without a database; throws if the file has faults. */
export function planned(catalog: unknown, stored = empty as unknown as CatalogPlan): CatalogPlan {
  const plan = decideImport(readCatalog(write(catalog)), stored, () => v7());
  if ('faults' in plan) throw new Error(`Correct the catalog: ${write(plan.faults)}`);
  return plan;
}

/** The faults that an import of a file into stored rows finds; empty if the file can be imported. */
export function faultsIn(text: string, stored = empty as unknown as CatalogPlan): readonly JsonFault[] {
  const plan = decideImport(readCatalog(text), stored, () => v7());
  return 'faults' in plan ? plan.faults : [];
}

export const location = (more: Json = {}): Json => ({
  name: 'Downtown',
  address1: '1 Main Street',
  city: 'Austin',
  state: 'TX',
  postal: '78701',
  timezone: 'America/Chicago',
  isPrimary: true,
  ...more,
});
export const offer = (more: Json = {}): Json => ({
  price: '240.00',
  qty: 12,
  qtyAlert: 2,
  shippingType: 'FLAT_RATE',
  shippingAmount: '15.00',
  vendorCost: '150.00',
  cogs: '165.00',
  offerVariants: [{ name: 'Half', sku: 'BTX-50', price: '130.00', qty: 3 }],
  ...more,
});
export const rx = (more: Json = {}): Json => ({
  refills: 1,
  deaScheduleId: '01a05c32-5e80-7000-8000-00000000dea0',
  rxQty: 1,
  daysSupply: 28,
  quantityUnitOfMeasureId: '01a05c32-5e80-7000-8000-0000000003a1',
  directions: 'Weekly.',
  refrigerationTypeId: '01a05c32-5e80-7000-8000-000000000f51',
  ...more,
});
export const product = (more: Json = {}): Json => ({
  sku: 'BTX-100',
  name: 'Botox',
  description: 'One session',
  unitPrice: '240.00',
  pharmacy: 'Lone Star',
  productId: 'X-1',
  category: 'Injectables',
  subcategory: 'Neuromodulators',
  productOffer: offer(),
  ...more,
});
export const clinic = (more: Json = {}): Json => ({
  legalName: 'Austin, PLLC',
  displayName: 'Austin',
  email: 'austin@x.example',
  locations: [location()],
  ...more,
});

export interface Sample {
  clinics: Json[];
  pharmacies: Json[];
  categories: Json[];
  products: Json[];
}

const yearly = { reviewOften: 'YEARLY', reviewRecurring: true };
const monthly = { ...yearly, reviewOften: 'MONTHLY', minAge: 18, synchronousOnly: true };

/** A catalog of two clinics and two products that uses every part of the format. */
export const sample = (): Sample => ({
  clinics: [
    clinic({ metadata: { beds: 3, tags: ['a'] } }),
    clinic({ legalName: 'Phoenix, LLC', email: 'phoenix@x.example', isActive: false, locations: [] }),
  ],
  pharmacies: [{ name: 'Lone Star' }],
  categories: [
    {
      ...yearly,
      categoryName: 'Injectables',
      subcategories: [{ subCategoryName: 'Neuromodulators' }, { subCategoryName: 'Fillers' }],
    },
    { ...monthly, categoryName: 'Weight', subcategories: [{ subCategoryName: 'GLP-1' }] },
  ],
  products: [
    product(),
    product({
      sku: 'SEMA-25',
      name: 'Semaglutide',
      category: 'Weight',
      subcategory: 'GLP-1',
      productRx: rx(),
      productOffer: offer({ offerVariants: [] }),
      clinicAvailability: [{ clinic: 'phoenix, llc' }, { clinic: 'Austin@x.example', isActive: false }],
    }),
  ],
});

/** The sample with a changed first clinic and no products, or with a changed first product alone. */
export const withClinic = (more: Json): Sample => ({
  ...sample(),
  clinics: [clinic(more)],
  pharmacies: [],
  products: [],
});
export const withProduct = (more: Json): Sample => ({ ...sample(), products: [product(more)] });
export const withOffer = (more: Json): Sample => withProduct({ productOffer: offer(more) });
export const withRx = (more: Json): Sample => withProduct({ productRx: rx(more) });

const inCategory = (change: Json) => ({ categories: [{ ...sample().categories[0], ...change }] });
const variant = { name: 'Half', sku: 'BTX-50', price: '1', qty: 1 };

/** Each kind of element but pharmacies, its pointer, and the sample with an id for that element. */
export const placedIds: [Exclude<keyof CatalogPlan, 'pharmacy'>, string, (id: string) => unknown][] = [
  ['clinic', '/clinics/0', (id) => withClinic({ id })],
  ['location', '/clinics/0/locations/0', (id) => withClinic({ locations: [location({ id })] })],
  ['category', '/categories/0', (id) => inCategory({ id })],
  [
    'subcategory',
    '/categories/0/subcategories/0',
    (id) => inCategory({ subcategories: [{ subCategoryName: 'Neuromodulators', id }] }),
  ],
  ['product', '/products/0', (id) => withProduct({ id })],
  ['offer', '/products/0/productOffer', (id) => withOffer({ id })],
  ['variant', '/products/0/productOffer/offerVariants/0', (id) => withOffer({ offerVariants: [{ ...variant, id }] })],
  ['prescription', '/products/0/productRx', (id) => withRx({ id })],
  [
    'availability',
    '/products/0/clinicAvailability/0',
    (id) => withProduct({ clinicAvailability: [{ clinic: 'Austin, PLLC', id }] }),
  ],
];
