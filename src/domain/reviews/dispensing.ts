import { Prisma, type EncounterTreatment, type OrderLine } from '../../../generated/prisma/client.js';
import { approvalEnded } from '../orders/holds.js';
import type { OrderRecord } from '../orders/orders.js';
import { shipToOf, type ShipTo } from '../orders/shipTo.js';
import { getPatient, type PatientRecord } from '../patients/patients.js';
import { findRows } from '../transactions/rows.js';
import type { LookupContext } from '../transactions/transaction.js';
import { identityIn, isOtherIdentity, itemsWithDecisions, licence, type Identity } from './certificate.js';

/** The decision under which a line was prescribed, and its provider. */
interface Prescribed {
  readonly itemId: string;
  readonly reviewerRef: string;
  /** The provider's name; null if the provider is not registered. */
  readonly name: string | null;
  readonly npi: string | null;
  /** The provider's licence in the state of the review, on its day. */
  readonly licence: string | null;
  readonly approvedAt: Date;
  readonly validUntil: Date | null;
  /** The patient's identity at the review; null after an erasure. */
  readonly reviewedIdentity: Identity | null;
}

/** The lines of an order that a pharmacy may dispense now, and what it needs for that. */
export interface Dispensing {
  readonly order: OrderRecord;
  readonly patient: PatientRecord;
  /** Whether the patient's name or birth date differ from those at the review of a line. */
  readonly isIdentityChanged: boolean;
  readonly shipTo: ShipTo;
  readonly lines: readonly {
    readonly line: OrderLine;
    readonly treatment: EncounterTreatment;
    readonly prescribed: Prescribed;
  }[];
}

/**
 * Collects what a pharmacy needs to dispense an order. Call it in the snapshot that read the order.
 * @param order with the lines of the caller's pharmacies
 * @throws Problem approval_ended if all these lines are held; ship_to_required
 */
export async function dispense(context: LookupContext, order: OrderRecord): Promise<Dispensing> {
  const { db } = context;
  const { tenantId, encounterId, encounter } = order;
  const free = order.lines.filter(({ holdAt }) => holdAt === null);
  if (free.length === 0) throw approvalEnded(order.lines, order.lines);
  const ofEncounter = Prisma.sql`encounter_id = ${encounterId}::uuid`;
  const patient = await getPatient(context, encounter.patientId);
  const [treatments, decisions, shipTo] = await Promise.all([
    findRows(db, tenantId, 'EncounterTreatment', ofEncounter),
    db.of(tenantId).rows<Prescribed>`
      SELECT item.id AS "itemId", encounter.reviewer_ref AS "reviewerRef", provider.name, provider.npi, ${licence} AS licence,
        item.decided_at AS "approvedAt", item.valid_until AS "validUntil",
        encounter.reviewed_identity AS "reviewedIdentity"
      FROM ${itemsWithDecisions}
      WHERE item.tenant_id = ${tenantId} AND item.encounter_id = ${encounterId}::uuid`,
    shipToOf(context, order),
  ]);
  const lines = free.map((line) => {
    const treatment = treatments.find(({ productId }) => productId === line.productId);
    const prescribed = decisions.find(({ itemId }) => itemId === line.gfeItemId);
    if (!treatment || !prescribed) throw new Error('the treatment or the decision of an order line is missing');
    return { line, treatment, prescribed };
  });
  const present = identityIn(patient);
  const isIdentityChanged = lines.some(({ prescribed: { reviewedIdentity } }) =>
    isOtherIdentity(reviewedIdentity ?? present, present),
  );
  return { order, patient, isIdentityChanged, shipTo, lines };
}
