import { amountsOf, lineAmountsOf, type Amounts } from '../orders/money.js';
import type { Catalog, CatalogTreatment } from '../catalog/import/catalogSchema.js';
import { approvalEnd } from '../approvals/approvals.js';
import type { RowSet } from '../transactions/bulkSql.js';
import { claimableFrom, expiresAt, resolveSchedule, type Schedule } from '../encounters/schedule.js';

/** An encounter of the fixtures; what is not said is as in a new one that asks for little. */
export interface FixtureEncounter {
  readonly number: number;
  /** Ids of products. */
  readonly treatmentIds: readonly string[];
  readonly createdAt: Date;
  readonly schedule?: Required<Schedule>;
  readonly reviewType: 'synchronous' | 'asynchronous';
  readonly notes?: string;
  readonly documentId?: string;
  /** Who reviews or reviewed it, since when, and until when it is claimed; without an end everything is approved. */
  readonly review?: { readonly reviewerRef: string; readonly at: Date; readonly until: Date | null };
}

export interface FixturePlace {
  readonly tenantId: string;
  readonly clinicId: string;
  readonly patientId: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly catalog: Catalog;
}

/** The number of the order of the completed encounter. */
export const FIXTURE_ORDER = 100_045;

/** Ids of fixtures end in what they are and a number, so that the examples can be read: `…e123`. */
const idOf = (ending: string): string => `01a1f9b8-cbc0-7000-8000-${ending.padStart(12, '0')}`;
export const encounterIdOf = (number: number): string => idOf(`e${number % 1000}`);

/**
 * The rows of encounters as the service would have written them. Their numbers are of the range that sequences leave
 * free.
 */
export function encounterRows(place: FixturePlace, encounters: readonly FixtureEncounter[]): RowSet[] {
  const completed = encounters.filter(({ review }) => review?.until === null);
  return [
    { table: 'encounter', rows: encounters.map((encounter) => encounterRow(place, encounter)) },
    { table: 'encounter_treatment', rows: encounters.flatMap((encounter) => treatmentRows(place, encounter)) },
    { table: 'encounter_document', rows: encounters.flatMap((encounter) => documentRows(place, encounter)) },
    { table: 'gfe_item', rows: encounters.flatMap((encounter) => itemRows(place, encounter)) },
    { table: 'order', rows: completed.map((encounter) => orderRow(place, encounter)) },
    { table: 'order_line', rows: completed.flatMap((encounter) => orderLineRows(place, encounter)) },
  ];
}

function encounterRow(place: FixturePlace, encounter: FixtureEncounter) {
  const { number, reviewType, createdAt, review } = encounter;
  const schedule: Schedule = encounter.schedule ?? {};
  const resolved = resolveSchedule(schedule, null);
  const { until = null } = review ?? {};
  return {
    id: encounterIdOf(number),
    tenantId: place.tenantId,
    encounterNo: number,
    status: review ? (until ? 'in_review' : 'completed') : 'pending_review',
    clinicId: place.clinicId,
    patientId: place.patientId,
    reviewType,
    serviceQueue: 'provider_network',
    additionalNotes: encounter.notes ?? null,
    scheduledDay: schedule.scheduledDay ?? null,
    scheduledTime: schedule.scheduledTime ?? null,
    scheduledTimeZone: schedule.scheduledTimeZone ?? null,
    scheduledAt: resolved.scheduledAt,
    ...fixtureAmounts(place, encounter),
    reviewerRef: review?.reviewerRef ?? null,
    claimedAt: review?.at ?? null,
    leaseExpiresAt: until,
    claimableFrom: claimableFrom(reviewType, resolved, createdAt),
    completedAt: review && !until ? review.at : null,
    expiresAt: expiresAt(resolved, createdAt),
    createdAt,
    updatedAt: review?.at ?? createdAt,
    // Created, claimed, reviewed.
    version: review ? (until ? 2 : 3) : 1,
  };
}

function treatmentRows({ tenantId, catalog }: FixturePlace, { number, treatmentIds }: FixtureEncounter) {
  return treatmentIds.map((productId, position) => {
    const { sku, name, pharmacy: pharmacyName, productOffer } = productOf(catalog, productId);
    return {
      id: idOf(`a${number}${position}`),
      tenantId,
      encounterId: encounterIdOf(number),
      productId,
      position,
      sku,
      name,
      price: productOffer.price,
      shippingType: productOffer.shippingType,
      shippingAmount: productOffer.shippingAmount,
      pharmacyId: catalog.pharmacies.find((one) => one.name === pharmacyName)?.id,
      pharmacyName,
      ...groupOf(catalog, productId).names,
    };
  });
}

function documentRows({ tenantId }: FixturePlace, { number, documentId }: FixtureEncounter) {
  return documentId === undefined ? [] : [{ tenantId, encounterId: encounterIdOf(number), documentId, position: 0 }];
}

/** Each treatment of the fixtures has a category of its own, so there is an item for each. */
function itemRows({ tenantId, catalog }: FixturePlace, { number, treatmentIds, review }: FixtureEncounter) {
  const approvedAt = review && !review.until ? review.at : null;
  return treatmentIds.map((productId, position) => {
    const { names, rule } = groupOf(catalog, productId);
    return {
      id: idOf(`b${number}${position}`),
      tenantId,
      encounterId: encounterIdOf(number),
      position,
      ...names,
      ...rule,
      status: approvedAt ? 'approved' : 'pending_review',
      decidedAt: approvedAt,
      validUntil: approvedAt && approvalEnd(rule, approvedAt),
    };
  });
}

function orderRow(place: FixturePlace, encounter: FixtureEncounter) {
  return {
    id: idOf('f045'),
    tenantId: place.tenantId,
    encounterId: encounterIdOf(encounter.number),
    orderSequence: FIXTURE_ORDER,
    orderStatus: 'pending',
    currency: place.currency,
    ...fixtureAmounts(place, encounter),
    paidAmt: '0.00',
    createdAt: encounter.review?.at,
    updatedAt: encounter.review?.at,
  };
}

function orderLineRows(place: FixturePlace, encounter: FixtureEncounter) {
  return treatmentRows(place, encounter).map((treatment) => {
    const { tenantId, productId, position, sku, name, shippingType, pharmacyId, pharmacyName } = treatment;
    const id = idOf(`c${encounter.number}${position}`);
    const what = { productId, position, sku, name, shippingType, pharmacyId, pharmacyName };
    return { id, tenantId, orderId: idOf('f045'), ...what, ...lineAmountsOf(treatment) };
  });
}

/** The estimate, and the order if everything is approved. */
export function fixtureAmounts(
  { catalog }: Pick<FixturePlace, 'catalog'>,
  { treatmentIds }: FixtureEncounter,
): Amounts {
  return amountsOf(treatmentIds.map((id) => productOf(catalog, id).productOffer));
}

function productOf({ products }: Catalog, id: string): CatalogTreatment {
  const found = products.find((product) => product.id === id);
  if (!found || found.isDeleted) throw new Error(`the catalog of the fixtures lacks the product ${id}`);
  return found;
}

/** What an item and a line say of the category and subcategory of a product, and the category's rule. */
function groupOf(catalog: Catalog, productId: string) {
  const product = productOf(catalog, productId);
  const category = catalog.categories.find(({ categoryName }) => categoryName === product.category);
  const subcategory = category?.subcategories.find(({ subCategoryName }) => subCategoryName === product.subcategory);
  if (!category || !subcategory) throw new Error(`the catalog of the fixtures lacks the category of ${productId}`);
  const { categoryName, reviewOften, reviewRecurring } = category;
  const { subCategoryName } = subcategory;
  return {
    names: { categoryId: category.id, categoryName, subcategoryId: subcategory.id, subCategoryName },
    rule: { reviewOften, reviewRecurring },
  };
}
