import { Temporal } from 'temporal-polyfill';
import type { GfeItem } from '../../../generated/prisma/client.js';

/** How often a category wants a new review; of the open vocabulary only these values are understood (D-03). */
export const approvalRules: ReadonlyMap<string, { readonly months: number; readonly noticeDays: number }> = new Map([
  ['YEARLY', { months: 12, noticeDays: 30 }],
  ['MONTHLY', { months: 1, noticeDays: 5 }],
]);

/**
 * The end of an approval, by calendar months in UTC; a day that its month lacks becomes the last one: 2028-02-29 and a
 * year is 2029-02-28. Null = it does not end: one review is enough, or the rule is not understood (R-48, D-03).
 */
export function approvalEnd(item: Pick<GfeItem, 'reviewOften' | 'reviewRecurring'>, approvedAt: Date): Date | null {
  const rule = approvalRules.get(item.reviewOften);
  if (!item.reviewRecurring || !rule) return null;
  const start = Temporal.Instant.fromEpochMilliseconds(approvedAt.getTime()).toZonedDateTimeISO('UTC');
  return new Date(start.add({ months: rule.months }).epochMilliseconds);
}

/** What a partner is shown: an approval is `expired` from its end on, whether or not anybody has noticed it. */
export function displayedStatus({ status, validUntil }: Pick<GfeItem, 'status' | 'validUntil'>, now: Date) {
  return status === 'approved' && validUntil !== null && validUntil <= now ? 'expired' : status;
}
