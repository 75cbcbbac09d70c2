import { itemKey } from '../values/itemKey.js';
import type { ReadContext } from '../transactions/transaction.js';

/** What is asked for: for whom, where, which treatments, and whether the provider would learn something new. */
export interface ReuseQuestion {
  readonly clinicId: string;
  readonly patientId: string;
  /** `rx` null = no prescription. */
  readonly treatments: readonly {
    readonly categoryId: string;
    readonly subcategoryId: string;
    readonly rx: object | null;
  }[];
  /** Documents or notes come with the request. */
  readonly hasNewInformation: boolean;
}

/** An approval that may be reused; `validUntil` null = it does not end. */
export interface ReusableApproval {
  readonly validUntil: Date | null;
  readonly encounterId: string;
}

/**
 * The approvals that clear items of a new encounter without a provider, by {@link itemKey}; of several the one that
 * ends last. Only approvals that a provider gave count: those
 * that reuse them end with them. One that has no end is reusable if one review is enough, and not if its rule is
 * not understood (D-03).
 */
export async function reusableApprovals(
  context: ReadContext,
  { clinicId, patientId, treatments, hasNewInformation }: ReuseQuestion,
): Promise<Map<string, ReusableApproval>> {
  const { tenantId } = context.caller;
  const prescribed = new Set(treatments.filter(({ rx }) => rx !== null).map(itemKey));
  const wanted = treatments.filter((treatment) => !prescribed.has(itemKey(treatment)));
  if (hasNewInformation || wanted.length === 0 || !(await isReuseOn(context))) return new Map();
  const approvals = await context.db.gfeItem.findMany({
    where: {
      tenantId,
      status: 'approved',
      reusedFromEncounterId: null,
      encounter: { is: { tenantId, patientId, clinicId, status: 'completed' } },
      AND: [
        { OR: wanted.map(({ categoryId, subcategoryId }) => ({ categoryId, subcategoryId })) },
        { OR: [{ validUntil: { gt: context.now() } }, { validUntil: null, reviewRecurring: false }] },
      ],
    },
    // The last of a key stays in the map.
    orderBy: [{ validUntil: { sort: 'asc', nulls: 'last' } }, { decidedAt: 'asc' }, { id: 'asc' }],
  });
  return new Map(
    approvals.map((item) => [itemKey(item), { validUntil: item.validUntil, encounterId: item.encounterId }]),
  );
}

async function isReuseOn({ db, caller }: ReadContext): Promise<boolean> {
  const tenant = await db.tenant.findUniqueOrThrow({ where: { id: caller.tenantId }, select: { gfeReuse: true } });
  return tenant.gfeReuse;
}
