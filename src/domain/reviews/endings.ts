import type { EncounterTreatment, GfeItem, OrderLine } from '../../../generated/prisma/client.js';
import { statusAt } from '../approvals/coverage.js';
import { itemKey } from '../catalog/itemKey.js';
import { decidedRows, loadDecided, type DecidedEncounter } from '../encounters/record.js';
import { told } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { elapsedHolds, stopped } from '../orders/holds.js';
import { flush, followedBy, write, type Decision, type EventDraft } from '../transactions/changes.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** Why approvals end before their time; a revocation says by whom and why. */
type End =
  | { readonly reason: 'superseded' }
  | { readonly reason: 'revoked'; readonly revokedBy: string; readonly revocationReason: string };

/**
 * Ends the approvals of these treatments of an encounter. After a revocation, recalls their order lines that
 * are shipped or delivered; holds the other lines. An item ends when none of its treatments is approved.
 * The version of the encounter stays.
 * @param by the encounter whose review or revocation ends the approvals
 */
export function endApprovals<E extends DecidedEncounter>(
  encounter: E,
  isMeant: (treatment: EncounterTreatment) => boolean,
  end: End,
  by: Pick<DecidedEncounter, 'encounterNo'>,
  now: Date,
): Decision<E> {
  const { reason } = end;
  const isEnding = (one: EncounterTreatment): boolean =>
    one.decision === 'approved' && one.endReason === null && isMeant(one);
  const ending = encounter.treatments.filter(isEnding);
  if (ending.length === 0) return { state: encounter, events: [] };
  const treatments = encounter.treatments.map((one) =>
    ending.includes(one) ? { ...one, endedAt: now, endReason: reason } : one,
  );
  const isCovered = (item: GfeItem): boolean =>
    treatments.some((one) => one.decision === 'approved' && one.endReason === null && itemKey(one) === itemKey(item));
  // An expired item stays expired and has no event, but its lines are held, too.
  const keys = ending.map(itemKey);
  const inForce = encounter.gfeItems.filter(
    (item) => keys.includes(itemKey(item)) && statusAt(item, now) === 'approved',
  );
  const gfeItems = encounter.gfeItems.map((item): GfeItem => {
    if (!inForce.includes(item) || isCovered(item)) return item;
    const { revokedBy, revocationReason } = end.reason === 'revoked' ? end : notRevoked;
    return { ...item, status: reason, validUntil: now, revokedBy, revocationReason };
  });
  const events = inForce.map((item) => {
    const ofItem = ending.filter((one) => itemKey(one) === itemKey(item));
    return itemEvent(encounter, item, ofItem, reason, by);
  });
  const productIds = ending.map(({ productId }) => productId);
  const isEnded = (line: OrderLine): boolean => productIds.includes(line.productId);
  const orders = encounter.orders.map((order) =>
    followedBy(elapsedHolds(order, now), (state) => stopped(state, isEnded, reason, now)),
  );
  return {
    state: { ...encounter, treatments, gfeItems, orders: orders.map(({ state }) => state) },
    events: [...events, ...orders.flatMap((one) => one.events)],
  };
}

const notRevoked = { revokedBy: null, revocationReason: null };

function itemEvent(
  encounter: DecidedEncounter,
  { categoryId, subcategoryId }: GfeItem,
  treatments: readonly EncounterTreatment[],
  reason: End['reason'],
  by: Pick<DecidedEncounter, 'encounterNo'>,
): EventDraft {
  const [order] = encounter.orders;
  return told(encounter, `gfe.${reason}`, {
    ...numbersOf(encounter),
    patientId: encounter.patientId,
    categoryId,
    subcategoryId,
    treatmentIds: treatments.map(({ productId }) => productId),
    by_encounter_id: Number(by.encounterNo),
    ...(order ? { order_no: order.orderNo } : {}),
  });
}

/** Revokes all approvals of a patient, whose data is erased next. */
export async function endAllApprovals(context: TransactionContext, tenantId: string, patientId: string): Promise<void> {
  await context.db.of(tenantId).run`
    SELECT FROM client WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid FOR NO KEY UPDATE`;
  const approved = await context.db.of(tenantId).rows<{ id: string }>`
    SELECT DISTINCT encounter_id AS id FROM encounter_treatment
    WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND decision = 'approved' AND ended_at IS NULL`;
  const at = { now: context.now(), newId: context.newId };
  const { now } = at;
  const before = await loadDecided(
    context.db,
    tenantId,
    approved.map(({ id }) => id),
  );
  const end = { reason: 'revoked', revokedBy: 'operator', revocationReason: 'erased' } as const;
  const ended = before.map((encounter) => endApprovals(encounter, () => true, end, encounter, now));
  const after = ended.map(({ state }) => ({ ...state, version: state.version + 1, updatedAt: now }));
  write(
    context,
    at,
    tenantId,
    decidedRows(before),
    decidedRows(after),
    ended.flatMap(({ events }) => events),
  );
  await flush(context);
}
