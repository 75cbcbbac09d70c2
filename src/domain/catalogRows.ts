import { Prisma } from '../../generated/prisma/client.js';
import { canonicalUuid } from './canonicalUuid.js';
import type {
  CatalogCategory,
  CatalogClinic,
  CatalogLocation,
  CatalogOffer,
  CatalogRx,
  CatalogTreatment,
  CatalogVariant,
} from './catalog.js';

/** The columns that a catalog decides: element of the file → row without its id, tenant and times. */

export const clinicRow = ({ legalName, displayName, email, isActive, metadata }: CatalogClinic) => ({
  legalName,
  displayName,
  email,
  isActive,
  metadata,
});

export const locationRow = (location: CatalogLocation, clinicId: string) => {
  const { name, address1, address2, city, state, postal, country, phone, timezone, isPrimary, isActive } = location;
  const place = { name, address1, address2, city, state: state.toUpperCase(), postal, country, phone, timezone };
  return { clinicId, ...place, isPrimary, isActive };
};

export const categoryRow = ({ categoryName, reviewOften, reviewRecurring }: CatalogCategory) => ({
  categoryName,
  reviewOften,
  reviewRecurring,
});

/** What a product refers to, found by the names in the file. */
export interface ProductReferences {
  readonly pharmacyId: string;
  readonly categoryId: string;
  readonly subcategoryId: string;
}

export const productRow = (
  product: CatalogTreatment,
  { pharmacyId, categoryId, subcategoryId }: ProductReferences,
) => ({
  sku: product.sku,
  name: product.name,
  description: product.description,
  unitPrice: money(product.unitPrice),
  isActive: product.isActive,
  isDeleted: false,
  metadata: product.metadata,
  pharmacyId,
  pharmacyName: product.pharmacy,
  externalCode: product.productId,
  categoryId,
  subcategoryId,
  imageUrl: product.imageUrl,
});

export const rxRow = ({ id: _id, ...rx }: CatalogRx, productId: string) => ({
  ...rx,
  productId,
  deaScheduleId: canonicalUuid(rx.deaScheduleId),
  quantityUnitOfMeasureId: canonicalUuid(rx.quantityUnitOfMeasureId),
  refrigerationTypeId: canonicalUuid(rx.refrigerationTypeId),
});

export const offerRow = (offer: CatalogOffer, productId: string) => ({
  productId,
  price: money(offer.price),
  qty: offer.qty,
  qtyAlert: offer.qtyAlert,
  shippingType: offer.shippingType,
  shippingAmount: money(offer.shippingAmount),
  vendorCost: money(offer.vendorCost),
  cogs: money(offer.cogs),
});

export const variantRow = ({ name, sku, price, qty, isActive }: CatalogVariant, productOfferId: string) => ({
  productOfferId,
  name,
  sku,
  price: money(price),
  qty,
  isActive,
});

/** Always with two decimals, as it is stored and shown: `240` → `240.00`. */
function money(text: string): string {
  return new Prisma.Decimal(text).toFixed(2);
}
