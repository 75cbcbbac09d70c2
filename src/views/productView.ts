import type { Schemas } from '../contract.js';
import { deaScheduleOf } from '../domain/catalog/deaSchedules.js';
import type { ShownProduct } from '../domain/catalog/products.js';
import { clinicSummaryView } from './clinicView.js';
import { isoTime, jsonObject, priceText } from './values.js';

type Audited = Pick<ShownProduct, 'createdAt' | 'createdBy' | 'updatedAt' | 'updatedBy'>;

export function productView(product: ShownProduct): Schemas['Product'] {
  return Object.assign(productSummaryView(product), {
    minAge: product.minAge ?? product.category.minAge,
    synchronousOnly: product.synchronousOnly || product.category.synchronousOnly,
    category: categoryView(product.category),
    subcategory: subcategoryView(product.subcategory),
    productRx: product.rx && rxView(product.rx),
    clinicAvailability: product.availability.map((entry) => ({
      id: entry.id,
      productId: entry.productId,
      clinicId: entry.clinicId,
      isActive: entry.isActive,
      createdAt: isoTime(entry.createdAt),
      updatedAt: isoTime(entry.updatedAt),
      clinic: clinicSummaryView(entry.clinic),
    })),
    clinicAvailabilityTotal: product.availabilityTotal,
    productOffer: offerView(product),
  });
}

function productSummaryView(product: ShownProduct): Schemas['ProductSummary'] {
  return {
    id: product.id,
    sku: product.sku,
    name: product.name,
    description: product.description,
    unitPrice: priceText(product.unitPrice),
    isActive: product.isActive,
    isDeleted: product.isDeleted,
    metadata: jsonObject(product.metadata),
    pharmacyId: product.pharmacyId,
    pharmacyName: product.pharmacyName,
    productId: product.externalCode,
    categoryId: product.categoryId,
    subcategoryId: product.subcategoryId,
    imageUrl: product.imageUrl,
    ...auditView(product),
  };
}

function offerView(product: ShownProduct): Schemas['ProductOffer'] {
  const { offer } = product;
  if (!offer) throw new Error(`product ${product.id} has no offer: import it again`);
  return {
    id: offer.id,
    productId: offer.productId,
    price: priceText(offer.price),
    qty: offer.qty,
    qtyAlert: offer.qtyAlert,
    shippingType: offer.shippingType,
    shippingAmount: priceText(offer.shippingAmount),
    vendorCost: priceText(offer.vendorCost),
    cogs: priceText(offer.cogs),
    ...auditView(offer),
    product: productSummaryView(product),
    offerVariants: offer.variants.map(variantView),
  };
}

function variantView(variant: NonNullable<ShownProduct['offer']>['variants'][number]): Schemas['OfferVariant'] {
  return {
    id: variant.id,
    productOfferId: variant.productOfferId,
    name: variant.name,
    sku: variant.sku,
    price: priceText(variant.price),
    qty: variant.qty,
    isActive: variant.isActive,
    createdAt: isoTime(variant.createdAt),
    updatedAt: isoTime(variant.updatedAt),
  };
}

function categoryView(category: ShownProduct['category']): Schemas['ProductCategory'] {
  return {
    id: category.id,
    categoryName: category.categoryName,
    reviewOften: category.reviewOften,
    reviewRecurring: category.reviewRecurring,
    ...auditView(category),
  };
}

function subcategoryView(subcategory: ShownProduct['subcategory']): Schemas['ProductSubcategory'] {
  return {
    id: subcategory.id,
    categoryId: subcategory.categoryId,
    subCategoryName: subcategory.subCategoryName,
    ...auditView(subcategory),
  };
}

function rxView(rx: NonNullable<ShownProduct['rx']>): NonNullable<Schemas['ProductRx']> {
  return {
    id: rx.id,
    productId: rx.productId,
    rxNumber: rx.rxNumber,
    drugForm: rx.drugForm,
    drugStrength: rx.drugStrength,
    directions: rx.directions,
    refills: rx.refills,
    rxType: rx.rxType,
    deaScheduleId: rx.deaScheduleId,
    deaSchedule: deaScheduleOf(rx),
    quantityUnitOfMeasureId: rx.quantityUnitOfMeasureId,
    codeListQualifier: rx.codeListQualifier,
    rxQty: rx.rxQty,
    daysSupply: rx.daysSupply,
    dateWritten: rx.dateWritten,
    daw: rx.daw,
    requestedBy: rx.requestedBy,
    refrigerationTypeId: rx.refrigerationTypeId,
    notes: rx.notes,
    ...auditView(rx),
  };
}

function auditView({ createdAt, createdBy, updatedAt, updatedBy }: Audited) {
  return { createdAt: isoTime(createdAt), createdBy, updatedAt: isoTime(updatedAt), updatedBy };
}
