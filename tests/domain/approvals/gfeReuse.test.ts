import { configureTenant } from '../../../src/domain/access/tenants.js';
import {
  encounterBody,
  newCategory,
  newClinic,
  newDocument,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  newToken,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { eventsAbout, getOrder } from '../../support/orders.js';
import { deny, reviewed, recordOf } from '../../support/reviews.js';

const DAY = 24 * 3600;

let harness: Harness;
let partner: Partner;
let tenantId: string;
/** A new patient at a new clinic, with one treatment that is reviewed every year. */
let body: EncounterBody;
let group: { categoryId: string; subcategoryId: string };
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  ({ tenantId } = partner);
});
beforeEach(async () => {
  await configureTenant(harness.domain, tenantId, { gfeReuse: true });
  body = await encounterBody(harness, partner);
  group = await newCategory(harness, partner);
  body = { ...body, treatmentIds: [await newProduct(harness, partner, group)] };
});
afterAll(() => harness.close());

const create = (changes = {}) => newEncounter(harness, partner, { ...body, ...changes });
const review = (encounter: Answer['body'], decide = {}) =>
  reviewed(harness, partner, encounter, () => ({ decision: 'approved', ...decide }));
const read = async (encounterNo: number) =>
  recordOf((await call(harness, `GET /encounters/${encounterNo}`, { token: partner.token })).body);
const setRule = (reviewOften: string, reviewRecurring: boolean) =>
  harness.domain.db.prisma.category.updateMany({
    where: { tenantId, id: group.categoryId },
    data: { reviewOften, reviewRecurring },
  });

/** Moves the clock and renews the token, which would expire. */
async function pass(days: number): Promise<void> {
  harness.clock.advance(days * DAY);
  partner = { ...partner, token: await newToken(harness, partner) };
}

describe('an approval in force', () => {
  it('completes a new encounter for its treatment at once, with an order, and keeps its own end date', async () => {
    const first = await review(await create());
    const [{ validUntil }] = first.gfe_data;
    await pass(30);
    const again = await create();
    const at = harness.clock.now.toISOString();
    const gfe_data = [{ status: 'approved', decidedAt: at, validUntil, reusedFromEncounterId: first.id }];
    expect(again).toMatchObject({ status: 'completed', completedAt: at, reviewerRef: null, gfe_data });
    expect(again.order_no).toMatch(/^ORD-/);
    expect(await read(again.encounter_id)).toEqual(again);
    const { body: order } = await getOrder(harness, partner, again.order_no);
    const lines = [{ treatmentId: body.treatmentIds[0] }];
    expect(order).toMatchObject({ order_status: 'pending', grand_total: '255.00', lines });
    const events = await eventsAbout(harness, partner, { encounter_id: again.encounter_id });
    const types = events.map(({ type }) => type).sort();
    expect(types).toEqual(['encounter.completed', 'encounter.created', 'order.created']);
    const completed = events.find(({ type }) => type === 'encounter.completed');
    expect(completed?.data).toMatchObject({ approved: 1, denied: 0, order_no: again.order_no });
  });

  it('keeps its end date in every encounter that reuses it, which names the encounter of the original decision', async () => {
    const first = await review(await create());
    const [{ validUntil }] = first.gfe_data;
    await pass(200);
    await create();
    await pass(100);
    expect(await create()).toMatchObject({ gfe_data: [{ validUntil, reusedFromEncounterId: first.id }] });
    harness.clock.advance((Date.parse(validUntil) - harness.clock.now.getTime()) / 1000);
    await pass(0);
    expect(await create()).toMatchObject({ status: 'pending_review', gfe_data: [{ status: 'pending_review' }] });
  });

  it('is reused before other approvals in force if it ends last, even if the review rule has changed', async () => {
    const yearly = [await create(), await create()];
    await setRule('MONTHLY', true);
    const monthly = await create();
    await review(yearly[0]);
    await pass(1);
    const middle = await review(yearly[1]);
    await pass(1);
    await review(monthly);
    await setRule('WEEKLY', true);
    await pass(300);
    const [{ validUntil }] = middle.gfe_data;
    const gfe_data = [{ validUntil, reusedFromEncounterId: middle.id }];
    expect(await create()).toMatchObject({ status: 'completed', gfe_data });
  });

  it('is reused for its own item only: a provider decides the other items, and the order has all approved ones', async () => {
    await review(await create());
    const other = await newProduct(harness, partner);
    const [known = ''] = body.treatmentIds;
    const again = await create({ treatmentIds: [other, known] });
    const gfe_data = [{ status: 'pending_review' }, { status: 'approved' }];
    expect(again).toMatchObject({ status: 'pending_review', order_no: null, gfe_data });
    const done = await review(again);
    expect(done).toMatchObject({ status: 'completed', gfe_data: [{ status: 'approved' }, again.gfe_data[1]] });
    const { body: order } = await getOrder(harness, partner, done.order_no);
    expect(order.lines.map(({ treatmentId }: { treatmentId: string }) => treatmentId)).toEqual([other, known]);
  });

  it('is reused for less than 12 months if it has no end date, or for the fewer months that the tenant configures', async () => {
    await setRule('YEARLY', false);
    const first = await review(await create());
    expect(first.gfe_data[0].validUntil).toBeNull();
    const reused = { status: 'completed', gfe_data: [{ validUntil: null, reusedFromEncounterId: first.id }] };
    await pass(364);
    expect(await create()).toMatchObject(reused);
    await configureTenant(harness.domain, tenantId, { gfeReuseMonths: 11 });
    expect(await create()).toMatchObject({ status: 'pending_review' });
    await configureTenant(harness.domain, tenantId, { gfeReuseMonths: 12 });
    const end = new Date(first.completedAt);
    end.setUTCFullYear(end.getUTCFullYear() + 1);
    harness.clock.now = new Date(end.getTime() - 1000);
    await pass(0);
    expect(await create()).toMatchObject(reused);
    harness.clock.advance(1);
    expect(await create()).toMatchObject({ status: 'pending_review' });
  });
});

/** Changes of the next request, or of the tenant, that prevent the reuse of an approval. */
const changes: [string, () => Promise<object>][] = [
  ['another patient', async () => ({ patientId: await newPatient(harness, partner) })],
  ['another clinic', async () => ({ clinicId: await newClinic(harness, partner) })],
  ['another category', async () => ({ treatmentIds: [await newProduct(harness, partner)] })],
  ['another subcategory', async () => ({ treatmentIds: [await newProduct(harness, partner, await sibling())] })],
  ['notes', async () => ({ additionalNotes: 'New medication' })],
  ['a document', async () => ({ documentIds: [await newDocument(harness, partner, body.patientId)] })],
  ['a prescription in the same group', async () => ({ treatmentIds: [...body.treatmentIds, await prescription()] })],
  ['reuse switched off by the tenant', () => switchOff().then(() => ({}))],
];

const switchOff = () => configureTenant(harness.domain, tenantId, { gfeReuse: false });
const prescription = () => newProduct(harness, partner, { ...group, isRx: true });

/** Another subcategory of the same category. */
async function sibling(): Promise<typeof group> {
  const [id, times] = [harness.domain.newId(), { createdAt: harness.domain.now(), updatedAt: harness.domain.now() }];
  const row = { id, tenantId, categoryId: group.categoryId, subCategoryName: 'Sibling', ...times };
  await harness.domain.db.prisma.subcategory.create({ data: row });
  return { ...group, subcategoryId: id };
}

describe('pending_review', () => {
  it.each(changes)('is the status of a new encounter with %s, which reuses no approval', async (_change, apply) => {
    await review(await create());
    const { status, order_no, gfe_data } = await create(await apply());
    expect({ status, order_no }).toEqual({ status: 'pending_review', order_no: null });
    expect(gfe_data).toMatchObject([{ status: 'pending_review', decidedAt: null, reusedFromEncounterId: null }]);
  });

  it('is the status of a new encounter in a tenant that has not enabled reuse', async () => {
    const other = await newPartner(harness);
    const first = await newEncounter(harness, other);
    await reviewed(harness, other, first);
    const { clinicId, patientId, treatmentIds } = first;
    const again = await newEncounter(harness, other, { clinicId, patientId, treatmentIds });
    expect(again).toMatchObject({ status: 'pending_review' });
  });

  it('is the status of a new encounter after a denial, and while an earlier encounter is undecided', async () => {
    await create();
    await reviewed(harness, partner, await create(), deny);
    expect(await create()).toMatchObject({ status: 'pending_review' });
  });

  it('is the status of a new encounter when the review rule of the approval is unknown (R-48)', async () => {
    await setRule('WEEKLY', true);
    const first = await review(await create());
    expect(first.gfe_data[0].validUntil).toBeNull();
    expect(await create()).toMatchObject({ status: 'pending_review' });
    await pass(10 * 365);
    expect((await read(first.encounter_id)).gfe_data[0].status).toBe('approved');
  });
});
