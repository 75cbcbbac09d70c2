import { approvalFaults, moneyFaults } from '../support/recordInvariants.js';
import { success, type Intent, type Json } from './history.js';
import {
  claimsOfOthers,
  impossibleDeliveries,
  impossibleSteps,
  lateAddresses,
  lostUpdates,
  lostVerifications,
  missingEffects,
  staleReads,
  wrongPayments,
  wrongRefusals,
} from './invariants.js';
import { knownRecords, type Known } from './sights.js';
import type { Tenant } from './tenants.js';

/** An event of the feed. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Json;
}

/** The intents and the feed of one tenant. */
export interface Evidence {
  readonly tenant: Tenant;
  readonly intents: readonly Intent[];
  readonly feed: readonly FeedEvent[];
  /** The tenant is a sandbox, whose clock may move, or servers had different times. */
  readonly isClockMoving: boolean;
}

/** The events without those about endpoints of webhooks, such as a ping, which other endpoints do not get. */
export function recordEvents(feed: readonly FeedEvent[]): FeedEvent[] {
  return feed.filter(({ type }) => !type.startsWith('webhook.'));
}

/** The events of each record, in the order of the feed. */
export function eventsByRecord(feed: readonly FeedEvent[]): Map<string, FeedEvent[]> {
  const events = new Map<string, FeedEvent[]>();
  for (const event of recordEvents(feed)) {
    const { encounter_id, order_no, user_id, documentId } = event.data;
    const [subject = ''] = event.type.split('.');
    const record = String({ order: order_no, patient: user_id, document: documentId }[subject] ?? encounter_id);
    events.set(record, [...(events.get(record) ?? []), event]);
  }
  return events;
}

/** By operation, the event that each of its successes emits. */
const EVENTS: Readonly<Record<string, RegExp>> = {
  claimEncounter: /^encounter\.review_started$/,
  releaseEncounter: /^encounter\.released$/,
  requestInformation: /^encounter\.information_requested$/,
  provideInformation: /^encounter\.information_provided$/,
  rescheduleEncounter: /^encounter\.rescheduled$/,
  updateEncounter: /^encounter\.updated$/,
  submitReview: /^encounter\.(completed|denied)$/,
  cancelEncounter: /^encounter\.cancelled$/,
  simulateEncounter: /^encounter\.expired$/,
  revokeApprovals: /^gfe\.revoked$/,
  recordPayment: /^order\.(updated|paid)$/,
  refundPayment: /^order\.refunded$/,
  recordFulfilment: /^order\.fulfilment_updated$/,
  cancelOrder: /^order\.cancelled$/,
  updatePatient: /^patient\.updated$/,
  simulateVerification: /^patient\.verification_updated$/,
  withdrawDocument: /^document\.withdrawn$/,
};
/** A renewal, a repeated verification or withdrawal emits none. */
const MAY_EMIT_NONE = /^(claimEncounter|simulateVerification|withdrawDocument)$/;

/** Each success has its event, and each event its cause. */
function countedEvents({ done, unknown }: Known, events: readonly FeedEvent[], isClockMoving: boolean): string[] {
  return Object.entries(EVENTS).flatMap(([operation, type]) => {
    const of = (intents: readonly Intent[]): Intent[] => intents.filter((one) => one.operation === operation);
    const count = events.filter((event) => type.test(event.type)).length;
    const least = MAY_EMIT_NONE.test(operation) ? 0 : of(done).length;
    // A lease may end during the run; an order becomes paid or cancelled by other changes, too.
    const lapses = [...done, ...unknown].filter(
      ({ input }) => isClockMoving || input?.leaseSeconds !== undefined,
    ).length;
    const others = { releaseEncounter: lapses, simulateEncounter: isClockMoving ? 1 : 0 }[operation] ?? 0;
    const most = /^(recordPayment|cancelOrder)$/.test(operation) ? Infinity : of([...done, ...unknown]).length + others;
    return count >= least && count <= most
      ? []
      : [`${count} events ${type.source} for ${least} to ${most} ${operation}`];
  });
}

/** Each payment and refund has an event with its amounts, and `order.paid` never follows itself. */
function orderEvents({ done }: Known, events: readonly FeedEvent[]): string[] {
  const paid = events.filter(({ type }) => type !== 'order.fulfilment_updated');
  const twice = paid.filter(({ type }, index) => type === 'order.paid' && paid[index - 1]?.type === type);
  const missing = done.filter((intent) => {
    const { order_status, balance_amt } = success(intent)?.body ?? {};
    const isTold = events.some(({ data }) => data.order_status === order_status && data.balance_amt === balance_amt);
    return intent.operation.endsWith('Payment') && !isTold;
  });
  return [
    ...twice.map(({ id }) => `the event ${id} says a second time that it is paid`),
    ...missing.map(({ operation }) => `no event has the amounts of ${operation}`),
  ];
}

/** Of the decisions about a treatment of a patient at a clinic, only the latest may be in force. */
function supersededApprovals(encounters: readonly Json[], feed: readonly FeedEvent[]): string[] {
  const decided = feed
    .filter(({ type }) => /^encounter\.(completed|denied)$/.test(type))
    .flatMap(({ data }) => encounters.find(({ encounter_id }) => encounter_id === data.encounter_id) ?? []);
  return decided.flatMap((encounter, index) =>
    encounter.gfe_data.flatMap(({ status, treatmentIds }: Json) => {
      const later = decided
        .slice(index + 1)
        .filter(({ patientId, clinicId }) => patientId === encounter.patientId && clinicId === encounter.clinicId);
      const isOver = treatmentIds.every((id: string) => later.some((other) => other.treatmentIds.includes(id)));
      return status === 'approved' && isOver
        ? [`${encounter.gfe_no} still approves what a later review has decided`]
        : [];
    }),
  );
}

/** Where licenses are required, only registered providers act, and those of the lab are all licensed. */
function unlicensedActs({ tenant: { licensed }, intents }: Evidence): string[] {
  const acts = intents.filter((intent) => intent.input?.reviewerRef && success(intent));
  return acts.flatMap(({ operation, input }) =>
    licensed?.includes(input.reviewerRef) === false ? [`${operation} by ${input.reviewerRef}, without a license`] : [],
  );
}

/** Judges every encounter, order, patient and document of a tenant. */
export function auditRecords(evidence: Evidence): string[] {
  const { intents, feed, isClockMoving } = evidence;
  const known = knownRecords(intents);
  const events = eventsByRecord(feed);
  const latest = [...known.values()].map(({ sights }) => sights.at(-1)?.body);
  const orders = latest.filter((body) => body?.lines);
  const encounters = latest.filter((body) => body?.gfe_no && body.version);
  const checks = [lostUpdates, missingEffects, wrongPayments, lateAddresses];
  const ofRecords = [...known].flatMap(([record, one]) => {
    const { body } = one.sights[0] ?? {};
    const own = events.get(record) ?? [];
    const created = body?.lines ? 'order.created' : body?.gfe_no ? 'encounter.created' : undefined;
    const found = [
      ...staleReads(one, isClockMoving),
      ...wrongRefusals(one, isClockMoving),
      ...checks.flatMap((check) => check(one)),
      ...(body?.gfe_no ? [...impossibleSteps(one), ...claimsOfOthers(one)] : lostVerifications(one)),
      ...countedEvents(one, own, isClockMoving),
      ...(created === undefined || own[0]?.type === created ? [] : [`its events begin with ${own[0]?.type}`]),
      ...(body?.lines ? [...orderEvents(one, own), ...impossibleDeliveries(own)] : []),
      ...one.sights.flatMap((sight) => (sight.body.lines ? moneyFaults(sight.body) : [])),
    ];
    return [...new Set(found)].map((fault) => `${record}: ${fault}`);
  });
  const approvals = encounters.flatMap((encounter) => {
    const own = orders.filter(({ encounter_id }) => encounter_id === encounter.encounter_id);
    return approvalFaults(encounter, own).map((fault) => `${encounter.gfe_no}: ${fault}`);
  });
  return [...ofRecords, ...approvals, ...supersededApprovals(encounters, feed), ...unlicensedActs(evidence)];
}

/** Every order that a response showed, by number. */
export function ordersOf(intents: readonly Intent[]): Map<string, Json> {
  const bodies = intents.flatMap(({ attempts }) => attempts.flatMap(({ body }) => [body, ...(body?.data ?? [])]));
  return new Map(bodies.flatMap((body) => (body?.lines && body.payments ? [[body.order_no, body] as const] : [])));
}
