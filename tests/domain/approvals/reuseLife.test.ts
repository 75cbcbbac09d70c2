import fc from 'fast-check';
import { configureTenant } from '../../../src/domain/access/tenants.js';
import { cancelEncounter, expireEncounter } from '../../../src/domain/encounters/cancellation.js';
import type { Context } from '../../../src/context.js';
import { clearances } from '../../../src/domain/approvals/clearance.js';
import { draftEncounter } from '../../../src/domain/encounters/draft.js';
import { createEncounter } from '../../../src/domain/encounters/encounters.js';
import { claimEncounter, submitReview } from '../../../src/domain/reviews/review.js';
import { presentChartVersion } from '../../../src/domain/reviews/chartVersion.js';
import { revokeApprovals } from '../../../src/domain/reviews/revocation.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { newCategory, newClinic, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext, insertDocumentRow, insertPatientRow } from '../../support/patientLives.js';
import { create, end, newLife, review, revoke, shown, type Group, type Request } from './reuseModel.js';

/** Random in every run; `REUSE_LIVES=500` runs more. */
const runs = Number(process.env['REUSE_LIVES'] ?? 100);
const lanes = 4;
const groups = ['yearly', 'once', 'prescription'] as const;
const day = 24 * 3_600_000;

let harness: Harness;
let partner: Partner;
let clinics: string[];
let products: Record<Group, { categoryId: string; subcategoryId: string; id: string }>;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const { tenantId } = partner;
  await configureTenant(harness.domain, tenantId, { gfeReuse: true });
  clinics = [await newClinic(harness, partner), await newClinic(harness, partner)];
  const product = async (isRx = false) => {
    const group = await newCategory(harness, partner);
    return { ...group, id: await newProduct(harness, partner, { ...group, isRx }) };
  };
  products = { yearly: await product(), once: await product(), prescription: await product(true) };
  const where = { tenantId, id: products.once.categoryId };
  await harness.domain.db.prisma.category.updateMany({ where, data: { reviewRecurring: false } });
});
afterAll(() => harness.close());

const rarely = fc.constantFrom(false, false, false, true);
/** Counts from the latest encounter. */
const which = fc.constantFrom(0, 0, 0, 1, 2);
const wishes: Group[][] = [['yearly'], ['yearly'], ['once'], ['yearly', 'once'], ['once', 'yearly', 'prescription']];
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
const approves = fc.array(fc.constantFrom(true, true, true, false), { minLength: 3, maxLength: 3 });
const action = fc.oneof(
  often(fc.record({ what: named('request'), request })),
  often(fc.record({ what: named('review'), which, approves })),
  fc.record({ what: named('cancel'), which, isInappropriate: fc.boolean() }),
  fc.record({ what: named('expire', 'revoke'), which }),
  fc.record({ what: named('upload'), docType: fc.constantFrom('lab-results', 'intake-forms', 'id-card') }),
  fc.record({ what: named('history') }),
  fc.record({ what: named('wait'), days: fc.constantFrom(1, 180, 364, 365) }),
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;
const plain = { clinic: 0, hasNotes: false, hasDocument: false, isLive: false, isScheduled: false };
/** Most lives begin with an approval; otherwise few would reuse one. */
const begun: readonly Action[] = [
  { what: 'request', request: { ...plain, wanted: ['yearly', 'once'] } },
  { what: 'review', which: 0, approves: [true, true] },
];
const lives = fc.record({
  isBegun: fc.constantFrom(true, true, true, false),
  actions: fc.array(action, { minLength: 3, maxLength: 12, size: 'max' }),
});
const seen = { reused: 0, waited: 0 };

it(`reuses and clears exactly as the model does in ${runs} random lives of patients`, async () => {
  const live = () =>
    fc.assert(
      fc.asyncProperty(lives, async ({ isBegun, actions }) => {
        await liveOnce([...(isBegun ? begun : []), ...actions]);
        // Shrinking takes longer than reading a dozen actions.
      }),
      { numRuns: Math.ceil(runs / lanes), endOnFailure: true },
    );
  await Promise.all(Array.from({ length: lanes }, live));
  // Both outcomes must occur often enough to prove something.
  expect(seen.reused).toBeGreaterThan(runs / 4);
  expect(seen.waited).toBeGreaterThan(runs / 4);
}, 600_000);

const itemOf = (group: Group) => {
  const { categoryId, subcategoryId } = products[group];
  return { categoryId, subcategoryId };
};

async function liveOnce(actions: readonly Action[]): Promise<void> {
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
      seen[made.items.some(({ status }) => status === 'approved') ? 'reused' : 'waited'] += 1;
    } else if (each.what === 'review' && encounter?.state === 'open') {
      const waiting = encounter.items.filter(({ status }) => status === 'pending_review');
      const decisions = waiting.map(({ group }, position) => {
        const decision = each.approves[position] ? ('approved' as const) : ('denied' as const);
        return { ...itemOf(group), decision, reason: 'x' };
      });
      const visit = { startedAt: new Date(now).toISOString(), endedAt: new Date(now).toISOString() };
      await act((transaction) => claimEncounter(transaction, number, { reviewerRef: 'A' }));
      await act(async (transaction) => {
        const chartVersion = await presentChartVersion(transaction, number);
        return submitReview(transaction, number, { reviewerRef: 'A', chartVersion, decisions, visit });
      });
      review(life, encounter, each.approves, now);
    } else if (each.what === 'cancel' && encounter?.state === 'open') {
      const reason = each.isInappropriate ? 'clinically_inappropriate' : 'other';
      await act((transaction) => cancelEncounter(transaction, number, { reason }, 'partner'));
      end(encounter, 'cancelled');
      if (each.isInappropriate) life.facts += 1;
    } else if (each.what === 'expire' && encounter?.state === 'open') {
      await act((transaction) => expireEncounter(transaction, number));
      end(encounter, 'expired');
    } else if (each.what === 'revoke' && encounter?.state === 'completed') {
      const items = encounter.items.filter((item) => shown(item, now) === 'approved').map(({ group }) => itemOf(group));
      if (items.length === 0) continue;
      await act((transaction) => revokeApprovals(transaction, number, { reviewerRef: 'B', items, reason: 'x' }));
      revoke(life, encounter, now);
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
        end(open, 'expired');
      }
      now += each.days * day;
    }
    expect(await storedItems(patientId)).toEqual(modelItems(life));
    expect(await clearedGroups(context, patientId)).toEqual(modelCleared(life, now));
  }
}

/** The treatments that are cleared at the first clinic, each with whether there was news. */
async function clearedGroups(context: Context, patientId: string): Promise<unknown[]> {
  const treatmentIds = groups.map((group) => products[group].id);
  const { clearances: found } = await clearances(context, patientId, { clinicId: clinics[0] ?? '', treatmentIds });
  return found.map(({ reason, factsChanged }) => [reason === 'approved', factsChanged]);
}

/** Of approvals in force the one that ends last, and then the latest, says whether there was news. */
const modelCleared = ({ encounters, facts }: ReturnType<typeof newLife>, now: number): unknown[] =>
  groups.map((group) => {
    const items = encounters.filter(({ request }) => request.clinic === 0).flatMap(({ items }) => items);
    const given = items.filter(
      (item) => item.group === group && item.reuses === null && shown(item, now) === 'approved',
    );
    const endOf = ({ validUntil }: { validUntil: number | null }): number => validUntil ?? Infinity;
    const [last] = given.sort((one, other) =>
      endOf(one) === endOf(other) ? (other.decidedAt ?? 0) - (one.decidedAt ?? 0) : endOf(other) - endOf(one),
    );
    return [last !== undefined, last !== undefined && last.facts !== facts];
  });

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
    treatmentIds: wish.wanted.map((group) => products[group].id),
    serviceQueue: 'provider_network' as const,
    reviewType: wish.isLive ? ('synchronous' as const) : ('asynchronous' as const),
    documentIds,
    ...(wish.hasNotes ? { additionalNotes: 'New medication' } : {}),
    // A day in the past, so that it can be reviewed at once.
    ...(wish.isScheduled ? { scheduledDay: '2026-11-01' } : {}),
  };
}
