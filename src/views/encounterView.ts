import type { Schemas } from '../contract.js';
import type {
  DetailedEncounter,
  ShownEncounter,
  ShownInformation,
  StatusEncounter,
  ShownItem,
} from '../domain/encounters/lookup.js';
import { statusAt } from '../domain/approvals/coverage.js';
import type { FrozenProvider } from '../domain/providers/licenses.js';
import type { ItemIdentity } from '../domain/catalog/itemKey.js';
import type { JsonOf } from '../domain/transactions/bulkSql.js';
import { amountNumber, createdDate, isoTime, jsonObject, timestamp } from './values.js';

/** The stored encounter; approvals expire by the tenant's clock. */
export function encounterView(encounter: ShownEncounter, now: Date): Schemas['Encounter'] {
  return {
    id: encounter.id,
    encounter_id: Number(encounter.encounterNo),
    gfe_no: encounter.gfeNo,
    order_no: encounter.orders[0]?.orderNo ?? null,
    status: encounter.status,
    clinicId: encounter.clinicId,
    patientId: encounter.patientId,
    treatmentIds: encounter.treatments.map(({ productId }) => productId),
    documentIds: encounter.documents.map(({ documentId }) => documentId),
    reviewType: encounter.reviewType,
    serviceQueue: encounter.serviceQueue,
    patientState: encounter.patientState,
    reviewState: encounter.reviewState,
    additionalNotes: encounter.additionalNotes,
    reference: encounter.reference,
    metadata: jsonObject(encounter.metadata),
    scheduledDay: encounter.scheduledDay,
    scheduledTime: encounter.scheduledTime,
    scheduledTimeZone: encounter.scheduledTimeZone,
    scheduledAt: timestamp(encounter.scheduledAt),
    gfe_data: encounter.gfeItems.map((item) => recordItemView(encounter, item, now)),
    estimate: estimateView(encounter),
    reviewerRef: encounter.reviewerRef,
    provider: encounter.reviewedProvider as FrozenProvider | null,
    claimedAt: timestamp(encounter.claimedAt),
    leaseExpiresAt: timestamp(encounter.leaseExpiresAt),
    completedAt: timestamp(encounter.completedAt),
    cancelledAt: timestamp(encounter.cancelledAt),
    cancelReason: encounter.cancelReason,
    expiresAt: timestamp(encounter.expiresAt),
    createdAt: encounter.createdAt.toISOString(),
    updatedAt: encounter.updatedAt.toISOString(),
    version: encounter.version,
  };
}

/** An encounter in the queue, with the time from which it may be claimed. */
export const queuedEncounterView = (encounter: ShownEncounter, now: Date): Schemas['Encounter'] =>
  Object.assign(encounterView(encounter, now), { claimableFrom: encounter.claimableFrom.toISOString() });

/** An encounter with the details that `listEncounters` and the queue omit. */
export function encounterDetailsView(encounter: DetailedEncounter, now: Date): Schemas['Encounter'] {
  return Object.assign(encounterView(encounter, now), {
    visitUrl: encounter.visitUrl,
    information: encounter.information.map(informationView),
    addenda: encounter.addenda.map(({ addedAt }) => ({ addedAt: isoTime(addedAt) })),
  });
}

export function informationView(row: ShownInformation | JsonOf<ShownInformation>): Schemas['InformationExchange'] {
  const { requestedAt, providedAt, ...exchange } = row;
  return { requestedAt: isoTime(requestedAt), providedAt: providedAt && isoTime(providedAt), ...exchange };
}

/** The total if every treatment is approved. */
export function estimateView(
  amounts: Pick<ShownEncounter, 'subTotal' | 'totalShippingAmt' | 'grandTotal' | 'currency'>,
): Schemas['Estimate'] {
  return {
    sub_total: amounts.subTotal.toFixed(2),
    total_shipping_amt: amounts.totalShippingAmt.toFixed(2),
    grand_total: amounts.grandTotal.toFixed(2),
    currency: amounts.currency,
  };
}

/** The status of an encounter: exactly the documented fields. `order_details` is absent without an order. */
export function encounterStatusView(encounter: StatusEncounter, now: Date): Schemas['EncounterStatus'] {
  const [order] = encounter.orders;
  return {
    encounter_id: Number(encounter.encounterNo),
    gfe_no: encounter.gfeNo,
    gfe_data: encounter.gfeItems.map((item) => itemView(item, now)),
    ...(order ? { order_details: orderDetailsView(order) } : {}),
  };
}

function itemView(item: ShownItem, now: Date): Schemas['GfeItem'] {
  return {
    category_name: item.categoryName,
    sub_category_name: item.subCategoryName,
    status: statusAt(item, now),
  };
}

function recordItemView({ treatments }: ShownEncounter, item: ShownItem, now: Date): Schemas['EncounterGfeItem'] {
  return Object.assign(itemView(item, now), {
    categoryId: item.categoryId,
    subcategoryId: item.subcategoryId,
    treatmentIds: treatmentIdsOf(treatments, item),
    declinedTreatmentIds: idsOf(treatments, item, ({ decision }) => decision === 'declined'),
    endedTreatmentIds: idsOf(treatments, item, ({ endReason }) => endReason !== null),
    decidedAt: timestamp(item.decidedAt),
    validUntil: timestamp(item.validUntil),
    denialReason: item.denialReason,
    rationale: item.rationale,
    revocationReason: item.revocationReason,
  });
}

export function treatmentIdsOf(
  treatments: readonly (ItemIdentity & { readonly productId: string })[],
  { categoryId, subcategoryId }: ItemIdentity,
): string[] {
  const ofItem = treatments.filter((one) => one.categoryId === categoryId && one.subcategoryId === subcategoryId);
  return ofItem.map(({ productId }) => productId);
}

type Treatment = ShownEncounter['treatments'][number];

const idsOf = (treatments: readonly Treatment[], item: ItemIdentity, isMeant: (one: Treatment) => boolean): string[] =>
  treatmentIdsOf(treatments.filter(isMeant), item);

function orderDetailsView(order: StatusEncounter['orders'][number]): Schemas['OrderDetails'] {
  return {
    order_no: order.orderNo,
    order_status: order.orderStatus,
    sub_total: amountNumber(order.subTotal),
    grand_total: amountNumber(order.grandTotal),
    paid_amt: amountNumber(order.paidAmt),
    balance_amt: amountNumber(order.balanceAmt),
    total_shipping_amt: amountNumber(order.totalShippingAmt),
    created_date: createdDate(order.createdAt),
  };
}
