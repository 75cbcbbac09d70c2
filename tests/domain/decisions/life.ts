import type { Patient } from '../../../generated/prisma/client.js';
import type { Bodies, Schemas } from '../../../src/contract.js';
import { changedSince, coverage, type Coverage, type PresentFacts } from '../../../src/domain/approvals/coverage.js';
import { decideCancellation } from '../../../src/domain/encounters/cancellation.js';
import { decideElapsed, decideRelease } from '../../../src/domain/encounters/command.js';
import { decideCreation } from '../../../src/domain/encounters/creation.js';
import type { EncounterRecord, EncounterState, WithReviewState } from '../../../src/domain/encounters/record.js';
import { refuse, type FoundParts } from '../../../src/domain/encounters/references.js';
import { actorOf } from '../../../src/domain/encounters/states.js';
import { decideReschedule, decideUpdate } from '../../../src/domain/encounters/update.js';
import { decideCancellation as decideOrderCancellation, decideStop } from '../../../src/domain/orders/cancellation.js';
import type { DecideOrder } from '../../../src/domain/orders/command.js';
import { decideFulfilment } from '../../../src/domain/orders/fulfilments.js';
import { applyElapsedHolds } from '../../../src/domain/orders/holds.js';
import type { OrderRecord } from '../../../src/domain/orders/orders.js';
import { decidePayment, decideRefund } from '../../../src/domain/orders/payments.js';
import { decideShipTo, type ShipTo } from '../../../src/domain/orders/shipTo.js';
import { decideAddendum, decideRevocation } from '../../../src/domain/reviews/afterReview.js';
import { readVisit } from '../../../src/domain/reviews/decisions.js';
import { decideInformation, decideQuestion } from '../../../src/domain/reviews/information.js';
import { decideReorder } from '../../../src/domain/reviews/reorder.js';
import { decideClaim, decideReview } from '../../../src/domain/reviews/review.js';
import type { WithProvider } from '../../../src/domain/providers/licenses.js';
import type { Decision, EventDraft, Moment } from '../../../src/domain/transactions/changes.js';
import {
  austin,
  caller,
  isRequested,
  latestOf,
  offered,
  pharmacyId,
  provider,
  shipTo,
  type Caller,
  type CatalogTreatment,
} from './world.js';

type Decide = (category: string) => Omit<Bodies['SubmitReviewRequest']['decisions'][number], keyof Item>;
type Item = Bodies['RevokeApprovalsRequest']['items'][number];
const approveAll: Decide = () => ({ decision: 'approved' });

/**
 * One patient at one clinic, in memory: every command is the service's own pure decision, on the state that the
 * decisions before it have left. No database takes part.
 */
export class Life {
  now = new Date('2026-11-20T16:00:00.000Z');
  readonly events: EventDraft[] = [];
  readonly encounters: EncounterRecord[] = [];
  patient = {
    ...{ id: 'jane', firstName: 'Jane', lastName: 'Miller', tenantId: caller.tenantId, guardian: null },
    ...{ factsVersion: 0n, factsChanges: {}, accountIsActive: true },
  } as unknown as Patient;
  provider: WithProvider = { provider, isLicenseRequired: true };
  /** The state of the patient, for encounters without `patientState`. */
  patientState: string | null = 'TX';
  marks = { decisions: '', documents: '', supplies: '', treatments: '', duplicates: '' };
  /** The catalog as it is today; a test may change it. */
  readonly catalog: Map<string, CatalogTreatment>;
  private ids = 0;

  constructor(catalog: readonly CatalogTreatment[], birthDate = '1990-06-30') {
    this.catalog = new Map(catalog.map((one) => [one.id, one]));
    this.patient = { ...this.patient, dateOfBirth: new Date(`${birthDate}T00:00:00.000Z`) };
  }

  at(limits: Partial<Caller> = {}): Moment {
    const newId = (): string => `id${String((this.ids += 1)).padStart(6, '0')}`;
    return { now: this.now, newId, caller: { ...caller, ...limits } };
  }

  pass(days: number): void {
    this.now = new Date(this.now.getTime() + days * 86_400_000);
  }

  /** The records that a request for these treatments finds. */
  parts(treatmentIds: readonly string[]): FoundParts {
    const { id, accountIsActive, dateOfBirth, guardian, factsVersion } = this.patient;
    const facts = { factsVersion: Number(factsVersion), factsChanges: {}, hasGuardian: guardian !== null };
    return {
      ...{ clinic: austin, documents: [], currency: 'USD' },
      patient: {
        id,
        isActive: accountIsActive,
        reviewState: this.patientState,
        dateOfBirth: dateOfBirth.toISOString().slice(0, 10),
        ...facts,
      },
      treatments: treatmentIds.map((one) => offered(this.of(one))),
    };
  }

  /** Requests treatments. @returns the index of the encounter */
  request(
    treatmentIds: readonly string[],
    body: Partial<Bodies['CreateEncounterRequest']> = {},
    parts: Partial<FoundParts> = {},
  ): number {
    const request = {
      ...{ clinicId: 'austin', patientId: 'jane', treatmentIds: [...treatmentIds] },
      ...{ reviewType: 'asynchronous' as const, serviceQueue: 'provider_network' as const, shipTo, ...body },
    };
    const key = { id: this.at().newId(), encounterNo: BigInt(101_000 + this.encounters.length) };
    const { encounter, faults } = decideCreation({ ...this.parts(treatmentIds), ...parts }, request, this.at(), key);
    if (faults[0]) throw refuse(faults[0]);
    this.encounters.push(encounter);
    return this.encounters.length - 1;
  }

  claim(index: number, body: Partial<Bodies['ClaimEncounterRequest']> = {}, client = 'client'): void {
    this.run(index, (state) => {
      const at = this.at({ apiClientId: client });
      return decideClaim({ ...state, ...this.reviewing(state.encounter) }, { reviewerRef: 'ana', ...body }, client, at);
    });
  }

  private reviewing({ patientState }: EncounterRecord): WithProvider & WithReviewState {
    return { ...this.provider, reviewState: patientState ?? this.patientState };
  }

  release(index: number, reviewerRef = 'ana'): void {
    this.run(index, (state) => {
      return decideRelease(state, 'release', actorOf(this.at(), state.encounter, { reviewerRef }), this.at());
    });
  }

  update(index: number, patch: Schemas['EncounterPatch'], parts: Partial<FoundParts> = {}): void {
    this.run(index, (state) => {
      const { version, treatments, documents } = state.encounter;
      const named = documents.map(({ documentId: id }) => ({ id, patientId: 'jane', isWithdrawn: false }));
      const ids = patch.treatmentIds ?? treatments.map(({ productId }) => productId);
      const references = { ...this.parts(ids), documents: named, ...parts };
      return decideUpdate({ ...state, version, references }, patch, this.at());
    });
  }

  reschedule(index: number, body: Bodies['RescheduleEncounterRequest']): void {
    const clinicZone = 'America/Chicago';
    this.run(index, (state) => decideReschedule({ ...state, clinicZone }, body, this.at()));
  }

  cancel(index: number, reason: Bodies['CancelEncounterRequest']['reason'] = 'other'): void {
    this.run(index, (state) => decideCancellation(state, { reason }, 'partner', this.at()));
  }

  ask(index: number): void {
    this.run(index, (state) => decideQuestion(state, { reviewerRef: 'ana', message: 'Which dose?' }, this.at()));
  }

  inform(index: number, sent: FoundParts['documents'] = []): void {
    this.run(index, (state) => decideInformation({ ...state, sent }, 'None.', this.at()));
  }

  /** Claims and reviews an encounter. @param decide returns the decision about a category */
  review(index: number, decide: Decide = approveAll): void {
    this.claim(index);
    this.decide(index, decide);
  }

  /** Reviews a claimed encounter. @param more replaces parts of the request */
  decide(index: number, decide: Decide = approveAll, more: Partial<Bodies['SubmitReviewRequest']> = {}): void {
    const marks = { facts: String(this.patient.factsVersion), ...this.marks };
    const { encounter } = this.stateOf(index);
    const productIds = encounter.treatments.map(({ productId }) => productId);
    const earlier = this.encounters.filter((other, place) => {
      const isMeant = (one: (typeof other.treatments)[number]): boolean =>
        productIds.includes(one.productId) && one.decision === 'approved' && one.endedAt === null;
      return place !== index && other.treatments.some(isMeant);
    });
    const decisions = encounter.gfeItems.map(({ categoryId, subcategoryId }) => {
      const { decision, ...rest } = decide(categoryId);
      const reason = decision === 'denied' ? { reason: 'Not now.' } : {};
      return { categoryId, subcategoryId, decision, ...reason, ...rest };
    });
    const newOrder = { id: this.at().newId(), orderSequence: BigInt(101_000 + index), position: 0 };
    const present = productIds.map((id) => offered(this.of(id)));
    const basis = { ...this.reviewing(encounter), marks, facts: this.facts(), present, newOrder };
    const body = { reviewerRef: 'ana', chartVersion: `${marks.facts}.....`, decisions, ...more };
    const before = decideElapsed({ ...this.stateOf(index), earlier }, this.at());
    const { state, events } = decideReview({ ...before.state, ...basis }, body, readVisit(body.visit), this.at());
    this.keep(state, [...before.events, ...events]);
    for (const other of state.earlier) {
      const place = this.encounters.findIndex(({ id }) => id === other.id);
      const stored = this.encounters[place];
      if (stored) this.encounters[place] = { ...stored, ...other };
    }
  }

  revoke(index: number, items: readonly Item[] = this.approvedItems(index)): void {
    const body = { reviewerRef: 'ana', reason: 'A new result.', items: [...items] };
    this.run(index, (state) => decideRevocation({ ...state, ...this.provider }, body, this.at()));
  }

  addendum(index: number): void {
    const body = { reviewerRef: 'ana', text: 'Called back.' };
    this.run(index, (state) => decideAddendum({ ...state, ...this.provider }, body, this.at()));
  }

  /** Orders treatments again. */
  reorder(index: number, treatmentIds: string[], address?: ShipTo): void {
    const latest = treatmentIds.map((id) => [id, latestOf(this.encounters, id)?.encounter.encounterNo ?? -1n] as const);
    const basis = {
      covered: new Map(treatmentIds.map((id) => [id, this.coverageOf(id, false)])),
      decidedBy: new Map(latest),
      offers: new Map(treatmentIds.map((id) => [id, offered(this.of(id)).offer])),
      currency: 'USD',
      newOrder: { id: this.at().newId(), orderSequence: BigInt(202_000 + this.ids) },
    };
    const body = address ? { treatmentIds, shipTo: address } : { treatmentIds };
    this.run(index, (state) => decideReorder({ ...state, ...basis }, body, this.at()));
  }

  /** The first order of an encounter at this moment. */
  order(index: number): OrderRecord {
    const [order] = this.stateOf(index).encounter.orders;
    if (!order) throw new Error('the encounter has no order: approve it');
    return { ...applyElapsedHolds(order, this.now), factsChanges: this.patient.factsChanges };
  }

  pay(index: number, amount = this.order(index).balanceAmt.toFixed(2)): void {
    this.onOrder(index, (state, at) => decidePayment(state, { amount }, at));
  }

  refund(index: number, amount: string, payment_id = this.order(index).payments[0]?.id ?? ''): void {
    this.onOrder(index, (state, at) => decideRefund(state, { payment_id, amount, reason: 'Returned.' }, at));
  }

  fulfil(index: number, status: Bodies['RecordFulfilmentRequest']['status'], treatmentIds?: string[], more = {}): void {
    const body = { pharmacyId, status, ...(treatmentIds ? { treatmentIds } : {}), ...more };
    this.onOrder(index, (state, at) => decideFulfilment(state, body, at));
  }

  stop(index: number): void {
    this.onOrder(index, (state, at) => decideStop(state, { reviewerRef: 'ana' }, at));
  }

  cancelOrder(index: number): void {
    this.onOrder(index, (state, at) => decideOrderCancellation(state, 'A mistake.', at));
  }

  sendTo(index: number, address: ShipTo): void {
    this.onOrder(index, (state, at) => decideShipTo(state, address, at));
  }

  /** The kinds of facts that changed since the review of an encounter. */
  newsOf(index: number): string[] {
    return changedSince(this.patient.factsChanges, this.stateOf(index).encounter.factsVersion);
  }

  /** The coverage of a treatment now. */
  coverageOf(productId: string, isPending = isRequested(this.encounters, productId)): Coverage {
    const latest = latestOf(this.encounters, productId);
    const { isActive, rx, minAge, synchronousOnly } = offered(this.of(productId));
    const decided = latest ? { ...latest.one, reviewType: latest.encounter.reviewType } : null;
    return coverage({ isActive, rx, minAge, synchronousOnly }, decided, isPending, this.facts(), this.now);
  }

  private facts(): PresentFacts {
    const { dateOfBirth, guardian, accountIsActive: isPatientActive } = this.patient;
    const age = this.now.getUTCFullYear() - dateOfBirth.getUTCFullYear();
    return { age, hasGuardian: guardian !== null, isPatientActive, isClinicActive: true };
  }

  private approvedItems(index: number): Item[] {
    return this.stateOf(index).encounter.gfeItems.filter(({ status }) => status === 'approved');
  }

  private of(id: string): CatalogTreatment {
    const found = this.catalog.get(id);
    if (!found) throw new Error(`there is no treatment ${id}: add it to the catalog`);
    return found;
  }

  private stateOf(index: number): EncounterState {
    const encounter = this.encounters[index];
    if (!encounter) throw new Error(`there is no encounter ${index}: request it first`);
    return { encounter, patient: this.patient, earlier: [] };
  }

  /** Decides as the service does: deadlines that have passed come first. */
  private run(index: number, decide: (state: EncounterState) => Decision<EncounterState>): void {
    const elapsed = decideElapsed(this.stateOf(index), this.at());
    const { state, events } = decide(elapsed.state);
    this.keep(state, [...elapsed.events, ...events]);
  }

  private keep({ encounter, patient }: EncounterState, events: readonly EventDraft[]): void {
    const place = this.encounters.findIndex(({ id }) => id === encounter.id);
    this.encounters[place] = encounter;
    this.patient = patient;
    this.events.push(...events);
  }

  private onOrder(index: number, decide: DecideOrder): void {
    const { encounter } = this.stateOf(index);
    const { state: order, events } = decide({ order: this.order(index), treatments: encounter.treatments }, this.at());
    this.encounters[index] = { ...encounter, orders: [order, ...encounter.orders.slice(1)] };
    this.events.push(...events);
  }
}
