import { Prisma, type EncounterTreatment, type GfeItem } from '../../../generated/prisma/client.js';
import { itemKey } from '../catalog/itemKey.js';
import type { ApprovedTreatment } from '../orders/orders.js';

/** The columns that decide what an item clears. */
type Clearing = Pick<GfeItem, 'status' | 'validUntil' | 'declinedTreatmentIds'>;

/**
 * The status of an item: an approval is `expired` from its end on, even before a job records that. An approval that
 * a decision has ended is in force at no time, not even an earlier one, because the clocks of servers differ.
 */
export function statusAt({ status, validUntil }: Omit<Clearing, 'declinedTreatmentIds'>, at: Date): GfeItem['status'] {
  return status === 'approved' && validUntil !== null && validUntil <= at ? 'expired' : status;
}

/** Whether an item's approval is in force at this time, and none of these treatments was declined. */
export function isInForce(item: Clearing, at: Date, ...treatmentIds: readonly string[]): boolean {
  return statusAt(item, at) === 'approved' && !treatmentIds.some((id) => item.declinedTreatmentIds.includes(id));
}

/** The treatments of an encounter with an approval in force, each with its item. */
export function approvedTreatments(
  {
    treatments,
    gfeItems,
  }: { readonly treatments: readonly EncounterTreatment[]; readonly gfeItems: readonly GfeItem[] },
  at: Date,
): ApprovedTreatment[] {
  const items = new Map(gfeItems.map((item) => [itemKey(item), item]));
  return treatments.flatMap((treatment) => {
    const item = items.get(itemKey(treatment));
    return item && isInForce(item, at, treatment.productId) ? [{ treatment, item }] : [];
  });
}

/** {@link isInForce} as SQL for the row `item`. An OR would lose the order of the index of renewals. */
export const inForce = (at: Date | Prisma.Sql, ...treatmentIds: readonly string[]): Prisma.Sql => Prisma.sql`(
  item.status = 'approved' AND coalesce(item.valid_until, 'infinity') > ${at}
  AND NOT item.declined_treatment_ids && ${[...treatmentIds]}::uuid[])`;
