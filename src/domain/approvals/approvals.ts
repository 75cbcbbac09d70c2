import { Temporal } from 'temporal-polyfill';
import type { GfeItem } from '../../../generated/prisma/client.js';

/** How often a category requires a new review, in months. For recurring ones, the import refuses others. */
const MONTHS: ReadonlyMap<string, number> = new Map([
  ['YEARLY', 12],
  ['MONTHLY', 1],
]);

/** The longest approval of a controlled substance. */
const SCHEDULED_MS = 180 * 24 * 3_600_000;

/**
 * The end of an approval, by calendar months in UTC. A day that the month lacks becomes its last day: 2028-02-29 plus a
 * year is 2029-02-28. Null = unlimited, because one review suffices or the rule is not understood.
 * @param isScheduled whether the approval covers a controlled substance: then it lasts at most 180 days
 */
export function approvalEnd(
  item: Pick<GfeItem, 'reviewOften' | 'reviewRecurring'>,
  approvedAt: Date,
  isScheduled = false,
): Date | null {
  const longest = isScheduled ? new Date(approvedAt.getTime() + SCHEDULED_MS) : null;
  const months = MONTHS.get(item.reviewOften);
  if (!item.reviewRecurring || months === undefined) return longest;
  const start = Temporal.Instant.fromEpochMilliseconds(approvedAt.getTime()).toZonedDateTimeISO('UTC');
  const end = new Date(start.add({ months }).epochMilliseconds);
  return longest && longest < end ? longest : end;
}
