import { Prisma, type Encounter } from '../../../generated/prisma/client.js';
import type { ReadContext } from '../transactions/transaction.js';
import { findProviders, isLicensed } from './licenses.js';

/** Minimum number of decisions for stating a typical wait, which is the median of their waits. */
const MIN_DECISIONS = 5;
const WAIT_PERIOD_MS = 30 * 24 * 3_600_000;

export interface ReviewMode {
  readonly reviewType: Encounter['reviewType'];
  /** Whether any provider of the tenant may review encounters of this type in the state. */
  readonly isLicensed: boolean;
  readonly typicalWaitMinutes: number | null;
}

/** The types of review in a state, with the median of the latest 1,000 waits for a decision. */
export async function reviewModes(context: ReadContext, state: string | null): Promise<readonly ReviewMode[]> {
  const { db, caller, now } = context;
  const { tenantId } = caller;
  const at = now();
  const [waits, providers] = await Promise.all([
    db.of(tenantId).rows<Omit<ReviewMode, 'isLicensed'>>`
      SELECT mode.review_type AS "reviewType",
        (SELECT CASE WHEN count(*) >= ${MIN_DECISIONS} THEN round(percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes))::int END
          FROM (SELECT greatest(0, extract(epoch FROM
              completed_at - greatest(created_at, claimable_from, scheduled_at)) / 60) AS minutes
            FROM encounter WHERE tenant_id = ${tenantId} AND review_state = ${state} AND review_type = mode.review_type
              AND reviewer_ref IS NOT NULL AND completed_at > ${new Date(at.getTime() - WAIT_PERIOD_MS)}
            ORDER BY completed_at DESC LIMIT 1000) AS wait) AS "typicalWaitMinutes"
      FROM unnest(enum_range(NULL::review_type)) AS mode(review_type)`,
    findProviders(
      context,
      Prisma.sql`provider.is_active AND EXISTS (SELECT FROM provider_license AS license
        WHERE license.tenant_id = ${tenantId} AND license.provider_id = provider.id AND license.state = ${state})`,
    ),
  ]);
  const isFree = providers.some(({ isLicenseRequired }) => !isLicenseRequired);
  const registered = providers.filter((one) => one.reviewerRef !== null);
  return waits.map((wait) => {
    const encounter = { reviewState: state, reviewType: wait.reviewType };
    return { ...wait, isLicensed: isFree || registered.some((one) => isLicensed(one, encounter, at)) };
  });
}
