import type { Encounter, GfeItem, Prisma } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { recordEvent } from '../events/record.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** What decides; its patient is locked. */
type DecidingEncounter = Pick<Encounter, 'tenantId' | 'id' | 'encounterNo' | 'patientId'>;

/**
 * A denial counts more than what was decided before: approvals in force of the same patient and items, at any clinic and
 * newly given or reused, become `superseded`.
 */
export async function supersedeApprovals(
  context: TransactionContext,
  encounter: DecidingEncounter,
  denied: readonly GfeItem[],
): Promise<void> {
  if (denied.length === 0) return;
  const { tenantId, patientId } = encounter;
  const items = denied.map(({ categoryId, subcategoryId }) => ({ categoryId, subcategoryId }));
  const which = { OR: items, encounter: { is: { tenantId, patientId } } };
  await endApprovals(context, encounter, { status: 'superseded' }, which);
}

/** Takes approvals back, the ones that were given and all that reuse them. */
export function revokeGiven(
  context: TransactionContext,
  encounter: DecidingEncounter,
  approvals: readonly GfeItem[],
  { reviewerRef: revokedBy, reason: revocationReason }: Omit<Bodies['RevokeApprovalsRequest'], 'items'>,
): Promise<void> {
  const items = approvals.map(({ categoryId, subcategoryId, encounterId, reusedFromEncounterId }) => {
    const given = reusedFromEncounterId ?? encounterId;
    return { categoryId, subcategoryId, OR: [{ encounterId: given }, { reusedFromEncounterId: given }] };
  });
  return endApprovals(context, encounter, { status: 'revoked', revokedBy, revocationReason }, { OR: items });
}

type End = { status: 'superseded' } | { status: 'revoked'; revokedBy: string; revocationReason: string };

/** Ends those of the approvals that are in force. Their encounters and orders stay; each event names the order. */
async function endApprovals(
  context: TransactionContext,
  { tenantId, id, encounterNo }: DecidingEncounter,
  end: End,
  which: Prisma.GfeItemWhereInput,
): Promise<void> {
  const now = context.now();
  const inForce = { status: 'approved' as const, OR: [{ validUntil: null }, { validUntil: { gt: now } }] };
  const items = await context.db.gfeItem.findMany({
    where: { tenantId, AND: [which, inForce] },
    include: { encounter: { include: { order: { select: { orderNo: true } } } } },
    orderBy: [{ encounter: { encounterNo: 'asc' } }, { position: 'asc' }],
  });
  if (items.length === 0) return;
  const ids = items.map((item) => item.id);
  await context.db.gfeItem.updateMany({ where: { tenantId, id: { in: ids } }, data: { ...end, validUntil: now } });
  // The deciding encounter is changed by its own transition.
  const others = items.map(({ encounterId }) => encounterId).filter((encounterId) => encounterId !== id);
  await context.db.encounter.updateMany({
    where: { tenantId, id: { in: others } },
    data: { version: { increment: 1 }, updatedAt: now },
  });
  for (const { encounter, categoryId, subcategoryId } of items) {
    recordEvent(context, encounter, `gfe.${end.status}`, {
      encounter_id: Number(encounter.encounterNo),
      gfe_no: encounter.gfeNo,
      patientId: encounter.patientId,
      categoryId,
      subcategoryId,
      by_encounter_id: Number(encounterNo),
      ...(encounter.order ? { order_no: encounter.order.orderNo } : {}),
    });
  }
}
