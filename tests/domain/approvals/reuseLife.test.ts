import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { configureTenant } from '../../../src/domain/access/tenants.js';
import { cancelEncounter, expireEncounter } from '../../../src/domain/encounters/cancellation.js';
import { draftEncounter } from '../../../src/domain/encounters/draft.js';
import { createEncounter } from '../../../src/domain/encounters/encounters.js';
import { showEncounter } from '../../../src/domain/encounters/lookup.js';
import { recordFulfilment } from '../../../src/domain/orders/fulfilments.js';
import { claimEncounter, submitReview } from '../../../src/domain/reviews/review.js';
import { presentChartVersion } from '../../../src/domain/reviews/chartVersion.js';
import { revokeApprovals } from '../../../src/domain/reviews/revocation.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { newCategory, newClinic, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext, insertDocumentRow, insertPatientRow } from '../../support/patientLives.js';
import { expectAgreement, type Lived } from './lifeAgreement.js';
import {
  create,
  end,
  newLife,
  review,
  revoke,
  shown,
  shownHold,
  type Group,
  type Request,
  type Treatment,
  type Verdict,
} from './reuseModel.js';

/** Random in every run; `REUSE_LIVES=500` runs more. */
const runs = Number(process.env['REUSE_LIVES'] ?? 60);
const lanes = 4;
const day = 24 * 3_600_000;
const pharmacyId = randomUUID();

let harness: Harness;
let partner: Partner;
let clinics: string[];
let products: Record<Treatment, { categoryId: string; subcategoryId: string; id: string }>;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const { tenantId } = partner;
  await configureTenant(harness.domain, tenantId, { gfeReuse: true });
  // Neither has daylight saving time.
  clinics = await Promise.all(
    ['Pacific/Kiritimati', 'Pacific/Pago_Pago'].map((timezone) =>
      newClinic(harness, partner, { places: [{ state: 'TX', timezone }] }),
    ),
  );
  // Free, so that a pharmacy can accept prescriptions without a payment.
  const free = { price: '0.00', shippingAmount: '0.00', pharmacyId };
  const product = async (isRx = false, given?: { categoryId: string; subcategoryId: string }) => {
    const { categoryId, subcategoryId } = given ?? (await newCategory(harness, partner));
    const group = { categoryId, subcategoryId };
    return { ...group, id: await newProduct(harness, partner, { ...group, ...free, isRx }) };
  };
  const yearly = await product();
  const extra = await product(false, yearly);
  products = { yearly, extra, once: await product(), prescription: await product(true) };
  const where = { tenantId, id: products.once.categoryId };
  await harness.domain.db.prisma.category.updateMany({ where, data: { reviewRecurring: false } });
});
afterAll(() => harness.close());

const rarely = fc.constantFrom(false, false, false, true);
/** Counts from the latest encounter. */
const which = fc.constantFrom(0, 0, 0, 1, 2);
const wishes: Treatment[][] = [
  ['yearly', 'extra'],
  ['yearly', 'extra'],
  ['yearly'],
  ['extra'],
  ['once'],
  ['yearly', 'extra', 'once'],
  ['once', 'yearly', 'prescription'],
];
const wanted = fc.constantFrom(...wishes);
const request: fc.Arbitrary<Request> = fc.record({
  clinic: fc.constantFrom(0, 0, 0, 1),
  hasNotes: rarely,
  hasDocument: rarely,
  isLive: rarely,
  isScheduled: rarely,
  wanted,
});
const named = <const T extends string>(...names: T[]) => fc.constantFrom(...names);
const often = <T>(arbitrary: fc.Arbitrary<T>) => ({ weight: 8, arbitrary });
const verdict = fc.constantFrom<Verdict>('approve', 'approve', 'except', 'deny');
const verdicts = fc.array(verdict, { minLength: 3, maxLength: 3 });
const action = fc.oneof(
  often(fc.record({ what: named('request'), request })),
  often(fc.record({ what: named('review'), which, verdicts })),
  fc.record({ what: named('cancel'), which, isInappropriate: fc.boolean() }),
  fc.record({ what: named('expire', 'revoke', 'accept'), which }),
  fc.record({ what: named('upload'), docType: fc.constantFrom('lab-results', 'intake-forms', 'id-card') }),
  fc.record({ what: named('history') }),
  fc.record({ what: named('wait'), days: fc.constantFrom(1, 180, 364, 365) }),
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;
const plain = { clinic: 0, hasNotes: false, hasDocument: false, isLive: false, isScheduled: false };
/** Most lives begin with an approval; otherwise few would reuse one. */
const begun: readonly Action[] = [
  { what: 'request', request: { ...plain, wanted: ['yearly', 'extra', 'once', 'prescription'] } },
  { what: 'review', which: 0, verdicts: ['approve', 'approve', 'approve'] },
  { what: 'accept', which: 0 },
];
const lives = fc.record({
  /** The number of first actions that are given. */
  given: fc.constantFrom(0, 2, 2, 3),
  actions: fc.array(action, { minLength: 3, maxLength: 12, size: 'max' }),
  /** Days about a moment of the life. */
  days: fc.array(fc.record({ moment: fc.nat(50), shift: fc.constantFrom(-1, 0, 0, 0, 1, 30) }), {
    minLength: 4,
    maxLength: 4,
  }),
});
type Life = typeof lives extends fc.Arbitrary<infer T> ? T : never;
const today = { moment: 50, shift: 0 } as const;
/** Lives that a run may miss: a denial after an approval, and days after the end of an approval. */
const rare: [Life][] = [
  [
    {
      given: 2,
      actions: [
        { what: 'request', request: { ...plain, hasNotes: true, wanted: ['yearly', 'extra'] } },
        { what: 'review', which: 0, verdicts: ['deny', 'deny', 'deny'] },
      ],
      days: [today, today, today, { moment: 0, shift: 0 }],
    },
  ],
  [{ given: 2, actions: [{ what: 'wait', days: 364 }], days: [today, { moment: 50, shift: 30 }, today, today] }],
];
const seen = new Map<string, number>();
const see = (what: string): unknown => seen.set(what, (seen.get(what) ?? 0) + 1);

it(`reuse, clearance, certificate and holds agree with the model in ${runs} random lives, on random days`, async () => {
  const live = () =>
    fc.assert(
      fc.asyncProperty(lives, async ({ given, actions, days }) => {
        const lived = await liveOnce([...begun.slice(0, given), ...actions]);
        for (const what of await expectAgreement(lived, days)) see(what);
        // Shrinking takes longer than reading a dozen actions.
      }),
      { numRuns: Math.ceil(runs / lanes), examples: rare, endOnFailure: true, includeErrorInReport: true },
    );
  await Promise.all(Array.from({ length: lanes }, live));
  // Each outcome must occur often enough to prove something; about a third of the lives reuse an approval.
  expect(seen.get('reused')).toBeGreaterThan(runs / 30);
  expect(seen.get('waited')).toBeGreaterThan(runs / 4);
  const outcomes = ['past approved', 'today approved', 'future approved', 'future expired', 'held superseded'];
  expect([...seen.keys()]).toEqual(expect.arrayContaining(outcomes));
}, 600_000);

const itemOf = (group: Group) => {
  const { categoryId, subcategoryId } = products[group];
  return { categoryId, subcategoryId };
};

async function liveOnce(actions: readonly Action[]): Promise<Lived> {
  const life = newLife();
  const numbers: bigint[] = [];
  const documents: string[] = [];
  let now = Date.parse('2026-11-20T16:00:00.000Z');
  const patientId = await insertPatientRow(harness, partner);
  const context = await callerContext(harness, partner, () => new Date(now));
  const act = <T>(work: (transaction: CallerContext) => Promise<T>): Promise<T> => inCallerTransaction(context, work);
  for (const each of actions) {
    now += 1000;
    const index = 'which' in each ? life.encounters.length - 1 - each.which : -1;
    const [encounter, number] = [life.encounters[index], numbers[index] ?? 0n];
    if (each.what === 'request') {
      const made = create(life, each.request, now);
      const documentIds = made.documents.map((index) => documents[index] ?? '');
      const body = bodyOf(patientId, each.request, documentIds);
      const preview = await draftEncounter(context, body);
      const stored = await act((transaction) => createEncounter(transaction, body));
      numbers.push(stored.encounterNo);
      expect(preview.items.map(({ status }) => status)).toEqual(made.items.map(({ status }) => status));
      see(made.items.some(({ status }) => status === 'approved') ? 'reused' : 'waited');
    } else if (each.what === 'review' && encounter?.state === 'open') {
      const waiting = encounter.items.filter(({ status }) => status === 'pending_review');
      const decisions = waiting.map(({ group }, position) => {
        const verdict = each.verdicts[position] ?? 'approve';
        const isExcepting = verdict === 'except' && (waiting[position]?.treatments.length ?? 0) > 1;
        const decision = verdict === 'deny' ? ('denied' as const) : ('approved' as const);
        const exceptTreatmentIds = isExcepting ? { exceptTreatmentIds: [products.extra.id] } : {};
        return { ...itemOf(group), decision, reason: 'x', ...exceptTreatmentIds };
      });
      const visit = { startedAt: new Date(now).toISOString(), endedAt: new Date(now).toISOString() };
      await act((transaction) => claimEncounter(transaction, number, { reviewerRef: 'A' }));
      await act(async (transaction) => {
        const chartVersion = await presentChartVersion(transaction, number);
        return submitReview(transaction, number, { reviewerRef: 'A', chartVersion, decisions, visit });
      });
      review(life, encounter, each.verdicts, now);
    } else if (each.what === 'cancel' && encounter?.state === 'open') {
      const reason = each.isInappropriate ? 'clinically_inappropriate' : 'other';
      await act((transaction) => cancelEncounter(transaction, number, { reason }, 'partner'));
      end(encounter, 'cancelled', now);
      if (each.isInappropriate) life.facts += 1;
    } else if (each.what === 'expire' && encounter?.state === 'open') {
      await act((transaction) => expireEncounter(transaction, number));
      end(encounter, 'expired', now);
    } else if (each.what === 'revoke' && encounter?.state === 'completed') {
      const items = encounter.items.filter((item) => shown(item, now) === 'approved').map(({ group }) => itemOf(group));
      if (items.length === 0) continue;
      await act((transaction) => revokeApprovals(transaction, number, { reviewerRef: 'B', items, reason: 'x' }));
      revoke(life, encounter, now);
    } else if (each.what === 'accept' && encounter?.state === 'completed') {
      const open = encounter.lines.filter((line) => !line.isAccepted && shownHold(line, now) === null);
      const { order } = await showEncounter(context, number);
      for (const line of open) {
        const treatmentIds = [products[line.treatment].id];
        const body = { pharmacyId, treatmentIds, status: 'accepted' as const };
        await act((transaction) => recordFulfilment(transaction, order?.orderNo ?? '', body));
        line.isAccepted = true;
      }
    } else if (each.what === 'upload') {
      documents.push(await insertDocumentRow(context, patientId, each.docType));
      life.documents += 1;
      if (each.docType !== 'id-card') life.facts += 1;
    } else if (each.what === 'history') {
      const data = { medicalHistory: `at ${now}`, updatedAt: new Date(now) };
      await harness.domain.db.prisma.patient.updateMany({ where: { tenantId: partner.tenantId, id: patientId }, data });
      life.facts += 1;
    } else if (each.what === 'wait') {
      // Open encounters expire before time passes.
      for (const [position, open] of life.encounters.entries()) {
        if (open.state !== 'open') continue;
        await act((transaction) => expireEncounter(transaction, numbers[position] ?? 0n));
        end(open, 'expired', now);
      }
      now += each.days * day;
    }
    expect(await storedItems(patientId)).toEqual(modelItems(life));
  }
  const treatments = new Map(Object.entries(products).map(([treatment, { id }]) => [id, treatment as Treatment]));
  return { context, patientId, clinics, treatments, life, numbers, now };
}

/** The stored items of every encounter: status, end and the index of the encounter that they reuse. */
async function storedItems(patientId: string): Promise<unknown[]> {
  const rows = await harness.domain.db.prisma.encounter.findMany({
    where: { tenantId: partner.tenantId, patientId },
    include: { gfeItems: { orderBy: { position: 'asc' } } },
    orderBy: { encounterNo: 'asc' },
  });
  const ids = rows.map(({ id }) => id);
  return rows.map(({ gfeItems }) =>
    gfeItems.map(({ status, validUntil, reusedFromEncounterId }) => [
      status,
      validUntil?.getTime() ?? null,
      reusedFromEncounterId && ids.indexOf(reusedFromEncounterId),
    ]),
  );
}

const modelItems = ({ encounters }: ReturnType<typeof newLife>): unknown[] =>
  encounters.map(({ items }) => items.map(({ status, validUntil, reuses }) => [status, validUntil, reuses]));

function bodyOf(patientId: string, wish: Request, documentIds: string[]) {
  return {
    clinicId: clinics[wish.clinic] ?? '',
    patientId,
    treatmentIds: wish.wanted.map((treatment) => products[treatment].id),
    serviceQueue: 'provider_network' as const,
    reviewType: wish.isLive ? ('synchronous' as const) : ('asynchronous' as const),
    documentIds,
    ...(wish.hasNotes ? { additionalNotes: 'New medication' } : {}),
    // A day in the past, so that it can be reviewed at once.
    ...(wish.isScheduled ? { scheduledDay: '2026-11-01' } : {}),
  };
}
