import { inTenants, RETENTION_BATCH, type PurgeContext } from '../events/retention.js';

/**
 * Removes ended encounters whose last change is longer ago than the operator keeps them, with their items, orders and
 * payments. Kept is what something still depends on: an order to be paid, an approval that is in force or that
 * another encounter reuses. Safe to run concurrently.
 * @returns how many
 */
export function purgeEncounters(context: PurgeContext, days: number): Promise<number> {
  const purgeSome = (tenantId: string): Promise<number> =>
    context.db.$transaction(async (transaction) => {
      const old = await transaction.$queryRaw<{ id: string }[]>`
        SELECT id FROM encounter
        WHERE tenant_id = ${tenantId} AND created_at < now() - make_interval(days => ${days}::int)
          AND updated_at < now() - make_interval(days => ${days}::int)
          AND phase <> 'open'
          AND NOT EXISTS (SELECT FROM gfe_item WHERE gfe_item.tenant_id = ${tenantId} AND encounter_id = encounter.id
            AND gfe_item.status = 'approved' AND (valid_until IS NULL OR valid_until > now()))
          AND NOT EXISTS (SELECT FROM gfe_item WHERE gfe_item.tenant_id = ${tenantId}
            AND reused_from_encounter_id = encounter.id)
          AND NOT EXISTS (SELECT FROM "order" WHERE "order".tenant_id = ${tenantId} AND encounter_id = encounter.id
            AND order_status = 'pending')
        ORDER BY created_at LIMIT ${RETENTION_BATCH} FOR UPDATE SKIP LOCKED`;
      const encounterId = { in: old.map(({ id }) => id) };
      const ofEncounter = { where: { tenantId, encounterId } };
      const ofOrder = { where: { tenantId, order: { encounterId } } };
      await transaction.refund.deleteMany(ofOrder);
      await transaction.fulfilment.deleteMany(ofOrder);
      await transaction.payment.deleteMany(ofOrder);
      await transaction.orderLine.deleteMany(ofOrder);
      await transaction.order.deleteMany(ofEncounter);
      await transaction.gfeItem.deleteMany(ofEncounter);
      await transaction.encounterInformation.deleteMany(ofEncounter);
      await transaction.encounterAddendum.deleteMany(ofEncounter);
      await transaction.encounterDocument.deleteMany(ofEncounter);
      await transaction.encounterTreatment.deleteMany(ofEncounter);
      await transaction.encounter.deleteMany({ where: { tenantId, id: encounterId } });
      return old.length;
    });
  return inTenants(context, purgeSome);
}
