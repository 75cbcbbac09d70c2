import { randomUUID } from 'node:crypto';
import { configureTenant } from '../../../src/domain/access/tenants.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../../../src/domain/sweeps/approvalNotices.js';
import { everyCase } from '../../support/everyCase.js';
import {
  encounterBody,
  newClinic,
  newPartner,
  newProduct,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { eventsAbout, getOrder } from '../../support/orders.js';
import { callerContext, insertDocumentRow } from '../../support/patientLives.js';
import { askedEncounter, cancelled, deny, reviewed, recordOf } from '../../support/reviews.js';
import { words } from '../../support/words.js';

// Later decisions and documents outweigh an approval. A case happens at one moment, so that no result depends on time.

let harness: Harness;
let partner: Partner;
/** The other clinic of the tenant. */
let elsewhere: { clinicId: string };
let otherTreatment: { treatmentIds: string[] };
/** A new patient, with a treatment that is reviewed every year. */
let body: EncounterBody;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  await configureTenant(harness.domain, partner.tenantId, { gfeReuse: true });
  elsewhere = { clinicId: await newClinic(harness, partner) };
  otherTreatment = { treatmentIds: [await newProduct(harness, partner)] };
});
const start = async (): Promise<void> => {
  body = await encounterBody(harness, partner);
};
beforeEach(start);
afterAll(() => harness.close());

type Encounter = Answer['body'];
const notes = { additionalNotes: 'New medication' };
const live = { reviewType: 'synchronous' };
const planned = { scheduledDay: '2026-11-20', scheduledTime: '09:00:00' };
const livePlanned = { ...live, ...planned };

const post = (path: string, json: object): Promise<Answer> =>
  call(harness, `POST ${path}`, { token: partner.token, json });
const itemsOf = ({ gfe_data }: Encounter) =>
  gfe_data.map(({ status, validUntil, reusedFromEncounterId: from }: Encounter) => ({ status, validUntil, from }));

/** A new encounter, whose items its preview has foretold. */
async function create(changes: object = {}): Promise<Encounter> {
  const preview = await post('/encounters/preview', { ...body, ...changes });
  const { status, body: created } = await post('/encounters', { ...body, ...changes });
  expect(status).toBe(201);
  expect(itemsOf(preview.body)).toEqual(itemsOf(created));
  return created;
}
const approve = async (changes = {}): Promise<Encounter> => reviewed(harness, partner, await create(changes));
const refuse = async (changes = {}): Promise<Encounter> => reviewed(harness, partner, await create(changes), deny);
const cancel = async (changes: object, reason: string): Promise<Encounter> =>
  cancelled(harness, partner, await create(changes), reason);
const read = async ({ encounter_id }: Encounter): Promise<Encounter> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);
const revoke = ({ encounter_id, gfe_data }: Encounter): Promise<Answer> =>
  post(`/encounters/${encounter_id}/revoke`, {
    reviewerRef: 'auditor',
    reason: 'Overlooked.',
    items: gfe_data.map(({ categoryId, subcategoryId }: Encounter) => ({ categoryId, subcategoryId })),
  });
/** Provides information for a request that is older than an approval. */
async function informLater(): Promise<Encounter> {
  const { encounter_id } = await askedEncounter(harness, partner, body);
  await approve();
  return (await post(`/encounters/${encounter_id}/information`, notes)).body;
}
async function inform(): Promise<void> {
  const { encounter_id } = await askedEncounter(harness, partner, { ...body, ...otherTreatment });
  await post(`/encounters/${encounter_id}/information`, notes);
}
const store = async (docType: string): Promise<string> =>
  insertDocumentRow(await callerContext(harness, partner, harness.domain.now), body.patientId, docType);
async function expire({ id }: Encounter): Promise<void> {
  const where = { tenantId: partner.tenantId, encounterId: id };
  const { db } = harness.domain;
  await db.prisma.$transaction([
    db.prisma.encounter.updateMany({ where: { tenantId: partner.tenantId, id }, data: { status: 'expired' } }),
    db.prisma.gfeItem.updateMany({ where, data: { status: 'expired' } }),
  ]);
}
const patch = async (changes: object): Promise<void> => {
  const { token } = partner;
  const path = `PATCH /clients/${body.patientId}` as const;
  expect((await call(harness, path, { token, json: changes })).status).toBe(200);
};
const writeHistory = () => patch({ medicalHistory: 'Myasthenia gravis' });

/** A step with a request that refers to a new document. */
const withDocument =
  (send: typeof approve, docType: string, changes: () => object = () => ({})) =>
  async (): Promise<Encounter> =>
    send({ ...changes(), documentIds: [await store(docType)] });

/** Fields of a patient with another value: those that a decision rests on, and others. */
const facts = {
  firstName: 'Another',
  lastName: 'Another',
  dateOfBirth: '1971-01-01',
  gender: 'other',
  stateId: randomUUID(),
  gfeStateId: randomUUID(),
  medicalHistory: 'Myasthenia gravis',
  notes: 'Pregnant',
  insuranceInfo: 'None',
};
const noFacts = { phone: '5550100999', address: '1 Other Street', email: 'Other@example.com', metadata: { key: 'x' } };

/** A name, the steps before the request, and the fields in which the request differs from the usual one. */
type Case = [name: string, steps: (() => Promise<unknown>)[], request?: () => object];

const cancellations = words('partner_request patient_request patient_no_show duplicate clinically_inappropriate other');
const contradictions: readonly Case[] = [
  ['A: notes, denied', [approve, () => refuse(notes)]],
  ['A: the denial was at another clinic', [approve, () => refuse(elsewhere)]],
  ['A: both clinics had approvals', [approve, () => approve(elsewhere), () => refuse(notes)], () => elsewhere],
  ['A: a document, denied', [approve, withDocument(refuse, 'id-card')]],
  ['B: notes that still wait', [approve, () => create(notes)]],
  ['B: notes that still wait at another clinic', [approve, () => create({ ...notes, ...elsewhere })]],
  ['B: a document that still waits', [approve, withDocument(create, 'id-card')]],
  ...cancellations.map((reason): Case => [`B: notes, cancelled: ${reason}`, [approve, () => cancel(notes, reason)]]),
  ['B: notes, expired', [approve, async () => expire(await create(notes))]],
  ['B: information about an older request, which waits again', [informLater]],
  ['without notes, but cancelled as inappropriate', [approve, () => cancel(elsewhere, 'clinically_inappropriate')]],
  ['C: an asynchronous approval for a synchronous request', [approve], () => live],
  ['C: an asynchronous approval for a scheduled request', [approve], () => planned],
  ['C: an asynchronous approval for a scheduled synchronous request', [approve], () => livePlanned],
  ['C: a synchronous approval for a scheduled synchronous one', [() => approve(live)], () => livePlanned],
  ['D: lab results', [approve, () => store('lab-results')]],
  ['D: intake forms', [approve, () => store('intake-forms')]],
  ['D: lab results of a denied request', [approve, withDocument(refuse, 'lab-results', () => elsewhere)]],
  ['B: notes that were approved at another clinic', [approve, () => approve({ ...notes, ...elsewhere })]],
  ['D: lab results of an approval at another clinic', [approve, withDocument(approve, 'lab-results', () => elsewhere)]],
  ['D: lab results of another treatment', [approve, withDocument(approve, 'lab-results', () => otherTreatment)]],
  ['D: a photo', [approve, () => store('photos')]],
  ...Object.entries(facts).map(([field, value]): Case => [
    `E: another ${field}`,
    [approve, () => patch({ [field]: value })],
  ]),
  ['F: a denial of another item', [approve, () => refuse(otherTreatment)]],
  ['F: another item, cancelled as inappropriate', [approve, () => cancel(otherTreatment, 'clinically_inappropriate')]],
  ['F: a revocation of another item', [approve, async () => revoke(await approve(otherTreatment))]],
  ['F: information about another item', [approve, inform]],
  ['a revocation', [async () => revoke(await approve())]],
  ['a revocation of an item that reuses it', [approve, async () => revoke(await create())]],
];

const reuses: readonly Case[] = [
  ['A: after a new approval', [approve, () => refuse(notes), approve]],
  ['B: notes that were approved', [approve, () => approve(notes)]],
  ['B: information about an older, approved request', [async () => reviewed(harness, partner, await informLater())]],
  ['B: blank notes', [approve], () => ({ additionalNotes: ' \n\t', documentIds: [] })],
  ['B: a cancelled request without notes at another clinic', [approve, () => cancel(elsewhere, 'patient_request')]],
  ['C: a synchronous approval for a synchronous request', [() => approve(live)], () => live],
  ['C: a synchronous approval for an asynchronous request', [() => approve(live)]],
  ['C: a synchronous approval for a planned treatment', [() => approve(live)], () => planned],
  ['D: an id card', [approve, () => store('id-card')]],
  ...Object.entries(noFacts).map(([field, value]): Case => [
    `E: another ${field}`,
    [approve, () => patch({ [field]: value })],
  ]),
  ['F: an approval of another item', [approve, () => approve(otherTreatment)]],
  ['F: another item, cancelled for another reason', [approve, () => cancel(otherTreatment, 'duplicate')]],
  ['E: an unchanged medical history', [writeHistory, approve, writeHistory]],
];

const expectAfter = (cases: readonly Case[], expected: object): Promise<void> =>
  everyCase(
    cases,
    ([name]) => name,
    async ([, steps, request]) => {
      await start();
      for (const step of steps) await step();
      expect(await create(request?.())).toMatchObject(expected);
    },
  );

it('createEncounter requires a new review after each event that contradicts the approval', async () => {
  const gfe_data = [{ status: 'pending_review', reusedFromEncounterId: null }];
  await expectAfter(contradictions, { status: 'pending_review', gfe_data });
}, 120_000);

it('createEncounter reuses an approval after events that do not contradict it', async () => {
  await expectAfter(reuses, { status: 'completed', gfe_data: [{ status: 'approved' }] });
}, 120_000);

describe('a denial', () => {
  it('supersedes approvals in force at every clinic, original or reused, and records an event for each with its order', async () => {
    const given = await approve();
    const other = await approve(elsewhere);
    const reused = await create();
    harness.clock.advance(60);
    const { encounter_id: by_encounter_id } = await refuse(notes);
    const now = harness.clock.now.toISOString();
    for (const ended of [given, other, reused]) {
      const { encounter_id, gfe_no, patientId, order_no, version } = ended;
      const [item] = ended.gfe_data;
      const gfe_data = [{ ...item, status: 'superseded', validUntil: now }];
      expect(await read(ended)).toEqual({ ...ended, version: Number(version) + 1, updatedAt: now, gfe_data });
      const status = await post('/encounters/status', { gfe_no });
      expect(status.body.gfe_data).toMatchObject([{ status: 'superseded' }]);
      expect((await getOrder(harness, partner, order_no)).body.order_status).toBe('pending');
      const { categoryId, subcategoryId } = item;
      const data = { encounter_id, gfe_no, patientId, categoryId, subcategoryId, by_encounter_id, order_no };
      const event = { type: 'gfe.superseded', clinic_id: ended.clinicId, timestamp: harness.clock.now, data };
      expect(await eventsAbout(harness, partner, { encounter_id }, 'gfe.superseded')).toEqual([event]);
    }
    const at = (ms: number) => ({ ...harness.domain, now: () => new Date(ms) });
    const end = Date.parse(given.gfe_data[0].validUntil);
    await announceExpiringApprovals(at(end - 1), partner.tenantId);
    await announceExpiredApprovals(at(end), partner.tenantId);
    const about = { encounter_id: given.encounter_id };
    expect(await eventsAbout(harness, partner, about, 'gfe.expiring', 'gfe.expired')).toEqual([]);
  });

  it('leaves unchanged the approvals of other items, other patients and those that have expired', async () => {
    const both = [...body.treatmentIds, await newProduct(harness, partner)];
    const first = await approve({ treatmentIds: both });
    const stranger = await approve({ patientId: (await encounterBody(harness, partner)).patientId });
    await refuse(notes);
    expect((await read(first)).gfe_data.map(({ status }: Encounter) => status)).toEqual(['superseded', 'approved']);
    expect(await read(stranger)).toEqual(stranger);
    await start();
    const old = await approve();
    const where = { tenantId: partner.tenantId, encounterId: old.id };
    await harness.domain.db.prisma.gfeItem.updateMany({ where, data: { validUntil: harness.clock.now } });
    await refuse(notes);
    expect((await read(old)).gfe_data).toMatchObject([{ status: 'expired' }]);
  });

  it('ends the reuse in a pending encounter, so that its order omits the item', async () => {
    await approve();
    const other = await newProduct(harness, partner);
    const waiting = await create({ treatmentIds: [...body.treatmentIds, other] });
    expect(waiting.gfe_data).toMatchObject([{ status: 'approved' }, { status: 'pending_review' }]);
    await refuse(notes);
    const done = await reviewed(harness, partner, waiting);
    expect(done.gfe_data).toMatchObject([{ status: 'superseded' }, { status: 'approved' }]);
    const { body: order } = await getOrder(harness, partner, done.order_no);
    expect(order.lines.map(({ treatmentId }: Encounter) => treatmentId)).toEqual([other]);
  });
});

describe('a reused approval that ends before the review of the other items', () => {
  /** An encounter in the queue with a reused approval that has ended, and its other treatment. */
  async function waiting(): Promise<{ encounter: Encounter; other: string }> {
    await approve();
    const other = await newProduct(harness, partner);
    const encounter = await create({ treatmentIds: [...body.treatmentIds, other] });
    expect(encounter.gfe_data).toMatchObject([{ status: 'approved' }, { status: 'pending_review' }]);
    const where = { tenantId: partner.tenantId, encounterId: encounter.id, status: 'approved' as const };
    await harness.domain.db.prisma.gfeItem.updateMany({ where, data: { validUntil: harness.clock.now } });
    return { encounter, other };
  }

  it('is left out of the order', async () => {
    const { encounter, other } = await waiting();
    const { order_no, encounter_id, gfe_data } = await reviewed(harness, partner, encounter);
    expect(gfe_data).toMatchObject([{ status: 'expired' }, { status: 'approved' }]);
    expect((await getOrder(harness, partner, order_no)).body.lines).toMatchObject([{ treatmentId: other }]);
    const [event] = await eventsAbout(harness, partner, { encounter_id }, 'encounter.completed');
    expect(event?.data).toMatchObject({ approved: 1, denied: 0 });
  });

  it('leads to a denied encounter if the other items are denied', async () => {
    const denied = await reviewed(harness, partner, (await waiting()).encounter, deny);
    const gfe_data = [{ status: 'expired' }, { status: 'denied' }];
    expect(denied).toMatchObject({ status: 'denied', order_no: null, gfe_data });
  });
});
