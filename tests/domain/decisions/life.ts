import { Prisma, type Patient } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../../src/contract.js';
import { coverage, type Coverage } from '../../../src/domain/approvals/coverage.js';
import { decideCreation } from '../../../src/domain/encounters/creation.js';
import type { EncounterState } from '../../../src/domain/encounters/record.js';
import { decideFulfilment } from '../../../src/domain/orders/fulfilments.js';
import { applyElapsedHolds } from '../../../src/domain/orders/holds.js';
import type { OrderRecord } from '../../../src/domain/orders/orders.js';
import { decidePayment, decideRefund } from '../../../src/domain/orders/payments.js';
import { decideAddendum, decideRevocation } from '../../../src/domain/reviews/afterReview.js';
import { decideClaim, decideReview } from '../../../src/domain/reviews/review.js';
import type { WithProvider } from '../../../src/domain/providers/licences.js';
import type { Decision, EventDraft, Moment } from '../../../src/domain/transactions/changes.js';

const DAY_MS = 24 * 3_600_000;

/** A treatment of the world's catalog. All treatments of one category are one item. */
export interface CatalogTreatment {
  readonly id: string;
  readonly category: string;
  readonly price: string;
  readonly shipping?: string;
  readonly rx?: { readonly refills: number } | null;
  readonly reviewOften?: string;
  readonly minAge?: number;
  readonly synchronousOnly?: boolean;
}

type Caller = NonNullable<Moment['caller']>;

const caller: Caller = {
  tenantId: 'lakeside',
  tenantMode: 'live',
  apiClientId: 'client',
  clientId: 'client',
  permissions: new Set(),
  allowedClinicIds: null,
  allowedPharmacyIds: null,
};

const known: WithProvider = {
  provider: {
    reviewerRef: 'ana',
    name: 'Ana Ruiz',
    npi: '1234567893',
    isActive: true,
    credential: 'MD',
    deaNumber: 'AR1234563',
    licences: [{ state: 'TX', number: '4711', asynchronousAllowed: true, expiresOn: '2999-12-31' }],
  },
  isLicenceRequired: true,
};

export const pharmacyId = 'pharmacy';
const shipTo = { name: 'Jane', address1: '1 Road', city: 'Austin', state: 'TX', postal: '78704', country: 'US' };

/**
 * One patient at one clinic, in memory: every command is the service's own pure decision, on the state that the
 * decisions before it have left. No database takes part.
 */
export class Life {
  now = new Date('2026-11-20T16:00:00.000Z');
  readonly events: EventDraft[] = [];
  readonly encounters: EncounterState['encounter'][] = [];
  patient = {
    id: 'jane',
    factsVersion: 0n,
    factsChanges: {},
    accountIsActive: true,
    guardian: null,
  } as unknown as Patient;
  provider = known;
  /** The catalog as it is today; a test may change it. */
  readonly catalog: Map<string, CatalogTreatment>;
  private ids = 0;

  constructor(catalog: readonly CatalogTreatment[], birthDate = '1990-06-30') {
    this.catalog = new Map(catalog.map((one) => [one.id, one]));
    Object.assign(this.patient, {
      firstName: 'Jane',
      lastName: 'Miller',
      dateOfBirth: new Date(`${birthDate}T00:00:00.000Z`),
      tenantId: caller.tenantId,
    });
  }

  at(limits: Partial<Caller> = {}): Moment {
    return {
      now: this.now,
      newId: () => `id${String((this.ids += 1)).padStart(6, '0')}`,
      caller: { ...caller, ...limits },
    };
  }

  pass(days: number): void {
    this.now = new Date(this.now.getTime() + days * DAY_MS);
  }

  /** Requests treatments. @returns the index of the encounter */
  request(treatmentIds: readonly string[], body: Partial<Bodies['CreateEncounterRequest']> = {}): number {
    const parts = {
      clinic: { id: 'austin', isActive: true, locations: [{ timezone: 'America/Chicago' }] },
      patient: {
        id: this.patient.id,
        accountIsActive: true,
        reviewState: 'TX',
        dateOfBirth: this.patient.dateOfBirth.toISOString().slice(0, 10),
        hasGuardian: this.patient.guardian !== null,
        factsVersion: Number(this.patient.factsVersion),
        factsChanges: {},
      },
      treatments: treatmentIds.map((id) => offered(this.of(id))),
      documents: [],
      currency: 'USD',
      nextNumber: BigInt(101_000 + this.encounters.length),
    };
    const request = {
      ...{ clinicId: 'austin', patientId: 'jane', treatmentIds: [...treatmentIds] },
      ...{ reviewType: 'asynchronous' as const, serviceQueue: 'provider_network' as const, shipTo, ...body },
    };
    const { encounter } = decideCreation(parts, request, this.at());
    this.encounters.push(encounter);
    return this.encounters.length - 1;
  }

  /** Claims and reviews an encounter. @param decide returns the decision about a category */
  review(
    index: number,
    decide: (category: string) => { decision: 'approved' | 'denied'; except?: readonly string[] } = () => ({
      decision: 'approved',
    }),
  ): void {
    this.run(index, (state) =>
      decideClaim({ ...state, ...this.provider }, { reviewerRef: 'ana' }, 'client', this.at()),
    );
    const { encounter } = this.stateOf(index);
    const productIds = encounter.treatments.map(({ productId }) => productId);
    const earlier = this.encounters.filter((other, place) => {
      const isMeant = (one: (typeof other.treatments)[number]): boolean =>
        productIds.includes(one.productId) && one.decision === 'approved' && one.endedAt === null;
      return place !== index && other.treatments.some(isMeant);
    });
    const marks = {
      facts: String(this.patient.factsVersion),
      decisions: '',
      documents: '',
      supplies: '',
      treatments: '',
      duplicates: '',
    };
    const decisions = encounter.gfeItems.map(({ categoryId, subcategoryId }) => {
      const { decision, except = [] } = decide(categoryId);
      const reason = decision === 'denied' ? { reason: 'Not now.' } : {};
      return { categoryId, subcategoryId, decision, exceptTreatmentIds: [...except], ...reason };
    });
    const limits = productIds.map((productId) => {
      const { minAge = 0, synchronousOnly = false } = this.of(productId);
      return { productId, minAge, synchronousOnly };
    });
    const basis = {
      ...this.provider,
      ...{ marks, limits, clinicZone: 'America/Chicago' },
      newOrder: { id: this.at().newId(), orderSequence: BigInt(101_000 + index), position: 0 },
    };
    const body = { reviewerRef: 'ana', chartVersion: `${marks.facts}.....`, decisions };
    const { state, events } = decideReview({ ...this.stateOf(index), earlier, ...basis }, body, null, this.at());
    this.keep(state, events);
    for (const other of state.earlier) {
      const place = this.encounters.findIndex(({ id }) => id === other.id);
      const stored = this.encounters[place];
      if (stored) this.encounters[place] = { ...stored, ...other };
    }
  }

  revoke(index: number): void {
    const items = this.stateOf(index).encounter.gfeItems.filter(({ status }) => status === 'approved');
    const body = { reviewerRef: 'ana', reason: 'A new result.', items };
    this.run(index, (state) => decideRevocation({ ...state, ...this.provider }, body, this.at()));
  }

  addendum(index: number): void {
    const body = { reviewerRef: 'ana', text: 'Called back.' };
    this.run(index, (state) => decideAddendum({ ...state, ...this.provider }, body, this.at()));
  }

  /** The order of an encounter at this moment. */
  order(index: number): OrderRecord {
    const [order] = this.stateOf(index).encounter.orders;
    if (!order) throw new Error('the encounter has no order');
    return { ...applyElapsedHolds(order, this.now), factsChanges: this.patient.factsChanges };
  }

  pay(index: number, amount = this.order(index).balanceAmt.toFixed(2)): void {
    this.onOrder(index, (state, at) => decidePayment(state, { amount }, at));
  }

  refund(index: number, amount: string): void {
    const [payment] = this.order(index).payments;
    const body = { payment_id: payment?.id ?? '', amount, reason: 'Returned.' };
    this.onOrder(index, (state, at) => decideRefund(state, body, at));
  }

  fulfil(index: number, status: Bodies['RecordFulfilmentRequest']['status'], treatmentIds: string[], more = {}): void {
    const body = { pharmacyId, status, treatmentIds, ...more };
    this.onOrder(index, (state, at) => decideFulfilment(state, body, at));
  }

  /** What coverage says about a treatment now. */
  coverageOf(productId: string): Coverage {
    const rows = this.encounters.flatMap((encounter) =>
      encounter.treatments
        .filter((one) => one.productId === productId && one.decidedAt !== null)
        .map((one) => ({ one, encounter })),
    );
    const [latest] = rows.reverse().sort((a, b) => Number(b.one.decidedAt) - Number(a.one.decidedAt));
    const isPending = this.encounters.some(
      ({ status, treatments }) =>
        ['pending_review', 'in_review', 'awaiting_information'].includes(status) &&
        treatments.some((one) => one.productId === productId),
    );
    const { minAge = 0, synchronousOnly = false } = this.of(productId);
    const decided = latest ? { ...latest.one, reviewType: latest.encounter.reviewType } : null;
    const present = { isActive: true, rx: this.of(productId).rx ?? null, minAge, synchronousOnly };
    const age = this.now.getUTCFullYear() - this.patient.dateOfBirth.getUTCFullYear();
    const facts = { age, hasGuardian: this.patient.guardian !== null, isPatientActive: true, isClinicActive: true };
    return coverage(present, decided, isPending, facts, this.now);
  }

  private of(id: string): CatalogTreatment {
    const found = this.catalog.get(id);
    if (!found) throw new Error(`no treatment ${id}`);
    return found;
  }

  private stateOf(index: number): EncounterState {
    const encounter = this.encounters[index];
    if (!encounter) throw new Error(`no encounter ${index}`);
    return { encounter, patient: this.patient, earlier: [] };
  }

  private run(index: number, decide: (state: EncounterState) => Decision<EncounterState>): void {
    const { state, events } = decide(this.stateOf(index));
    this.keep(state, events);
  }

  private keep({ encounter, patient }: EncounterState, events: readonly EventDraft[]): void {
    const place = this.encounters.findIndex(({ id }) => id === encounter.id);
    this.encounters[place] = encounter;
    this.patient = patient;
    this.events.push(...events);
  }

  private onOrder(
    index: number,
    decide: (state: Parameters<typeof decidePayment>[0], at: Moment) => Decision<OrderRecord>,
  ): void {
    const { encounter } = this.stateOf(index);
    const { state: order, events } = decide({ order: this.order(index), treatments: encounter.treatments }, this.at());
    this.encounters[index] = { ...encounter, orders: [order, ...encounter.orders.slice(1)] };
    this.events.push(...events);
  }
}

/** A treatment of the catalog as a request finds it. */
function offered({ id, category, price, shipping, rx = null, ...rules }: CatalogTreatment) {
  const { reviewOften = 'YEARLY', minAge = 0, synchronousOnly = false } = rules;
  const shippingType = shipping === undefined ? ('FREE_SHIPPING' as const) : ('FLAT_RATE' as const);
  return {
    ...{ id, sku: id, name: id, isActive: true, pharmacyId, pharmacyName: 'Lone Star', minAge, synchronousOnly },
    ...{ categoryId: category, subcategoryId: `${category}-sub`, availability: [], rx: rx as never },
    category: { id: category, categoryName: category, reviewOften, reviewRecurring: true },
    subcategory: { id: `${category}-sub`, subCategoryName: category },
    offer: { price: new Prisma.Decimal(price), shippingType, shippingAmount: new Prisma.Decimal(shipping ?? 0) },
  };
}
