import type { EncounterTreatment, Prisma } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { Problem, invalidState, type FieldError } from '../../problem.js';
import { latestDecisions } from '../approvals/clearance.js';
import { changedSince, coverage, type Coverage } from '../approvals/coverage.js';
import { itemKey } from '../catalog/itemKey.js';
import { encounterCommand } from '../encounters/command.js';
import { refuseRepeatedIds } from '../encounters/creation.js';
import type { EncounterRecord, EncounterState } from '../encounters/record.js';
import { newOrder, orderCreated, type NewOrder, type OrderRecord } from '../orders/orders.js';
import type { Decision, Moment } from '../transactions/changes.js';
import { nextNumber } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { patientOf, readPresent } from './decisions.js';

type Body = Bodies['ReorderTreatmentsRequest'];

/** Maximum of orders per encounter. */
const MAX_ORDERS = 100;

/** The price and shipping of a treatment today. */
type Offer = Pick<EncounterTreatment, 'price' | 'shippingType' | 'shippingAmount'>;

/** The facts, in addition to the encounter, that decide a reorder; maps are by product id. */
export interface ReorderBasis {
  readonly covered: ReadonlyMap<string, Coverage>;
  /** The `encounterNo` of the latest decision. */
  readonly decidedBy: ReadonlyMap<string, bigint>;
  readonly offers: ReadonlyMap<string, Offer>;
  /** The tenant's currency today (ISO 4217). */
  readonly currency: string;
  readonly newOrder: Omit<NewOrder, 'position'>;
}

/**
 * Orders approved treatments of a completed encounter again, at today's price.
 * @returns the new order
 * @throws Problem validation_failed for a repeated treatment, encounter_not_found, clinic_not_permitted, and those of
 * {@link decideReorder}
 */
export async function reorderTreatments(context: CallerContext, encounterNo: bigint, body: Body): Promise<OrderRecord> {
  refuseRepeatedIds(body);
  const ids = body.treatmentIds.map(canonicalUuid);
  const { orders } = await encounterCommand<ReorderBasis>(
    context,
    encounterNo,
    (state, at) => decideReorder(state, { ...body, treatmentIds: ids }, at),
    (transaction, which) => loadBasis(transaction, which, ids),
  );
  const order = orders.at(-1);
  if (!order) throw new Error('a reorder made no order: correct decideReorder');
  return order;
}

/**
 * @throws Problem, in this order, invalid_state; treatment_not_found for one that the encounter does not have;
 * approval_ended for one that this encounter's decision does not cover; facts_changed; no_refills_left; too_many_records
 */
export function decideReorder(
  state: EncounterState & ReorderBasis,
  { treatmentIds, shipTo }: Body,
  at: Moment,
): Decision<EncounterState> {
  const { encounter, patient, covered, decidedBy, offers } = state;
  if (encounter.status !== 'completed') throw invalidState(encounter.status);
  const named = treatmentIds.map((id) => encounter.treatments.find(({ productId }) => productId === id));
  refuseAny('treatment_not_found', named, (one) => (one ? null : 'is not a treatment of this encounter'));
  const treatments = named.filter((one) => one !== undefined);
  refuseAny('approval_ended', treatments, ({ productId }) => {
    const reason = covered.get(productId) ?? 'never_requested';
    if (reason !== 'approved') return `is not covered: ${reason}`;
    return decidedBy.get(productId) === encounter.encounterNo
      ? null
      : 'is approved in another encounter: reorder it there';
  });
  const changed = changedSince(patient.factsChanges, encounter.factsVersion);
  if (changed.length > 0) throw new Problem('facts_changed', undefined, { extra: { changed } });
  refuseAny('no_refills_left', treatments, (one) => {
    return timesOrdered(encounter, one.productId) > refillsOf(one) ? 'has been ordered as often as prescribed' : null;
  });
  if (encounter.orders.length >= MAX_ORDERS) throw new Problem('too_many_records');
  const approved = treatments.map((treatment) => {
    const item = encounter.gfeItems.find((one) => itemKey(one) === itemKey(treatment));
    const offer = offers.get(treatment.productId);
    if (!item || !offer)
      throw new Error(
        `the item or the offer of treatment ${treatment.id} is missing: import its product again, or restore a backup`,
      );
    return { treatment: { ...treatment, ...offer }, item };
  });
  const numbers = { ...state.newOrder, position: encounter.orders.length };
  const address = shipTo ?? encounter.orders[0]?.shipTo ?? null;
  const terms = { shipTo: address, currency: state.currency };
  const order = newOrder(encounter, patient.factsChanges, approved, numbers, at, terms);
  return {
    state: { ...state, encounter: { ...encounter, orders: [...encounter.orders, order] } },
    events: orderCreated(order),
  };
}

/** How often a treatment may be ordered again: its refills; without a prescription, any number of times. */
const refillsOf = ({ rx }: EncounterTreatment): number =>
  rx === null ? Infinity : (rx as { readonly refills: number }).refills;

const timesOrdered = ({ orders }: EncounterRecord, productId: string): number =>
  orders.flatMap(({ lines }) => lines).filter((line) => line.productId === productId && line.status !== 'cancelled')
    .length;

function refuseAny<T>(
  code: 'treatment_not_found' | 'approval_ended' | 'no_refills_left',
  treatments: readonly T[],
  faultOf: (treatment: T) => string | null,
): void {
  const errors = treatments.flatMap((treatment, index): FieldError[] => {
    const detail = faultOf(treatment);
    return detail === null ? [] : [{ pointer: `#/treatmentIds/${index}`, code, detail }];
  });
  if (errors.length > 0) throw new Problem(code, undefined, { errors });
}

/** Reads coverage and prices of today. The command has locked the patient, so no decision can change the coverage. */
async function loadBasis(context: CallerContext, which: Prisma.Sql, ids: readonly string[]): Promise<ReorderBasis> {
  const { db, caller } = context;
  const { tenantId } = caller;
  const at = context.now();
  const [{ facts, present }, { decided }, { currency }, offers, orderSequence] = await Promise.all([
    readPresent(context, which),
    latestDecisions(context, patientOf(tenantId, which), ids, at),
    db.of(tenantId).row<{ currency: string }>`SELECT currency FROM tenant WHERE id = ${tenantId}`,
    db.of(tenantId).rows<Offer & { productId: string }>`
      SELECT product_id AS "productId", price, shipping_type AS "shippingType", shipping_amount AS "shippingAmount"
      FROM product_offer WHERE tenant_id = ${tenantId} AND product_id = ANY (${[...ids]}::uuid[])`,
    nextNumber(context.db, 'order_order_sequence_seq'),
  ]);
  return {
    currency,
    covered: new Map(present.map((one) => [one.id, coverage(one, decided.get(one.id) ?? null, false, facts, at)])),
    decidedBy: new Map([...decided].map(([id, { encounterNo }]) => [id, encounterNo])),
    offers: new Map(offers.map(({ productId, ...offer }) => [productId, offer])),
    newOrder: { id: context.newId(), orderSequence },
  };
}
