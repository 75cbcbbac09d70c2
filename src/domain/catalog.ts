/**
 * A catalog file: what an operator imports for one tenant. Members are named as in the interface (§2.2, §2.5); a
 * product names its pharmacy, category, subcategory and clinics by name, because a file need not hold ids. These types
 * are a file after validation, with the schema's defaults filled in (catalogSchema.ts).
 */
export interface Catalog {
  readonly clinics: readonly CatalogClinic[];
  readonly pharmacies: readonly CatalogPharmacy[];
  readonly categories: readonly CatalogCategory[];
  readonly products: readonly CatalogProduct[];
}

/** An id may be given to fix the one of a new row, or to rename a stored one; otherwise names identify. */
interface Identified {
  readonly id?: string;
}

export interface CatalogClinic extends Identified {
  readonly legalName: string;
  readonly displayName: string;
  readonly email: string;
  readonly isActive: boolean;
  readonly metadata: object | null;
  readonly locations: readonly CatalogLocation[];
}

export interface CatalogLocation extends Identified {
  readonly name: string;
  readonly address1: string;
  readonly address2: string | null;
  readonly city: string;
  readonly state: string;
  readonly postal: string;
  readonly country: string;
  readonly phone: string | null;
  readonly timezone: string | null;
  readonly isPrimary: boolean;
  readonly isActive: boolean;
}

export interface CatalogPharmacy extends Identified {
  readonly name: string;
}

export interface CatalogCategory extends Identified {
  readonly categoryName: string;
  readonly reviewOften: string;
  readonly reviewRecurring: boolean;
  readonly subcategories: readonly CatalogSubcategory[];
}

export interface CatalogSubcategory extends Identified {
  readonly subCategoryName: string;
}

/** Deletes the product of this sku. */
export interface CatalogDeletion extends Identified {
  readonly sku: string;
  readonly isDeleted: true;
}

export interface CatalogTreatment extends Identified {
  readonly sku: string;
  readonly name: string;
  readonly description: string;
  readonly unitPrice: string;
  readonly isActive: boolean;
  readonly isDeleted: false;
  readonly metadata: object | null;
  readonly pharmacy: string;
  readonly productId: string;
  readonly category: string;
  readonly subcategory: string;
  readonly imageUrl: string | null;
  readonly productRx: CatalogRx | null;
  readonly productOffer: CatalogOffer;
  readonly clinicAvailability: readonly CatalogAvailability[];
}

export type CatalogProduct = CatalogDeletion | CatalogTreatment;

export interface CatalogRx extends Identified {
  readonly rxNumber: string | null;
  readonly drugForm: string | null;
  readonly drugStrength: string | null;
  readonly directions: string | null;
  readonly refills: number;
  readonly rxType: string | null;
  readonly deaScheduleId: string;
  readonly quantityUnitOfMeasureId: string;
  readonly codeListQualifier: string | null;
  readonly rxQty: number;
  readonly daysSupply: number;
  readonly dateWritten: string | null;
  readonly daw: string | null;
  readonly requestedBy: string | null;
  readonly refrigerationTypeId: string;
  readonly notes: string | null;
}

export interface CatalogOffer extends Identified {
  readonly price: string;
  readonly qty: number;
  readonly qtyAlert: number;
  readonly shippingType: 'FREE_SHIPPING' | 'FLAT_RATE';
  readonly shippingAmount: string;
  readonly vendorCost: string;
  readonly cogs: string;
  readonly offerVariants: readonly CatalogVariant[];
}

export interface CatalogVariant extends Identified {
  readonly name: string;
  readonly sku: string;
  readonly price: string;
  readonly qty: number;
  readonly isActive: boolean;
}

export interface CatalogAvailability extends Identified {
  /** Legal name, e-mail or id of a clinic. */
  readonly clinic: string;
  readonly isActive: boolean;
}
