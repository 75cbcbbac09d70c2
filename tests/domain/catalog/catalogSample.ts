export type Json = Record<string, unknown>;

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

/** The sample with changes in its first clinic or first product. */
export const withClinic = (more: Json): Sample => ({
  ...sample(),
  clinics: [clinic(more)],
  pharmacies: [],
  products: [],
});
export const withProduct = (more: Json): Sample => ({ ...sample(), products: [product(more)] });
export const withOffer = (more: Json): Sample => withProduct({ productOffer: offer(more) });
export const withRx = (more: Json): Sample => withProduct({ productRx: rx(more) });
