import { copyEncounter } from '../support/copies.js';
import {
  encounterBody,
  newClient,
  newClinic,
  newDocument,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
} from '../support/factories.js';
import { openObservedHarness } from '../support/observedHarness.js';
import { call, type Answer } from '../support/http.js';
import { callerContext, insertDocumentRow } from '../support/patientLives.js';
import { getOrder } from '../support/orders.js';
import { fulfil } from '../support/shipments.js';
import {
  askedEncounter,
  cancelled,
  claim,
  claimedEncounter,
  completedEncounter,
  deny,
  reviewed,
  reviewer,
} from '../support/reviews.js';
import { atTime } from '../support/tokens.js';

const { harness, observer } = await openObservedHarness();
const partner = await newPartner(harness);

const open = (encounterNo: unknown, reviewerRef = reviewer, { token } = partner): Promise<Answer> => {
  const query = new URLSearchParams({ reviewerRef }).toString();
  return call(harness, `GET /encounters/${String(encounterNo)}/chart?${query}`, { token });
};
/** The category and subcategory of a product. */
const ofProduct = (id = '') =>
  harness.domain.db.prisma.product.findFirstOrThrow({
    where: { tenantId: partner.tenantId, id },
    select: { categoryId: true, subcategoryId: true },
  });
/** The latest audit row of getChart. */
async function latestRow(): Promise<object> {
  const where = { tenantId: partner.tenantId, operationId: 'getChart' };
  return harness.domain.db.prisma.auditEvent.findFirstOrThrow({ where, orderBy: { position: 'desc' } });
}

describe('getChart 200', () => {
  it('shows patient, treatments, documents, earlier reviews and ended encounters to the holder of the claim', async () => {
    const guardian = { name: 'Ann Miller', relation: 'mother', phone: '5125550143' };
    const texts = { medicalHistory: 'Migraine.', insuranceInfo: 'None.', notes: 'Prefers text messages.', guardian };
    const patientId = await newPatient(harness, partner, texts);
    const treatmentId = await newProduct(harness, partner, { isRx: true });
    const documentIds = [await newDocument(harness, partner, patientId)];
    const unnamed = await newDocument(harness, partner, patientId);
    const body = { patientId, treatmentIds: [treatmentId] };
    const clinicId = await newClinic(harness, partner);
    const earlier = await reviewed(harness, partner, await newEncounter(harness, partner, { ...body, clinicId }), deny);
    const other = await newEncounter(harness, partner, body);
    const ended = await cancelled(harness, partner, await newEncounter(harness, partner, body));
    const claimed = await claimedEncounter(harness, partner, { ...body, documentIds, additionalNotes: 'BP 118/76.' });
    const { status, headers, body: chart } = await open(claimed.encounter_id);
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(chart.encounter).toEqual({ ...claimed, visitUrl: null, information: [], addenda: [] });
    const dateOfBirth = '1990-06-30T00:00:00.000Z';
    expect(chart.patient).toMatchObject({ user_id: patientId, dateOfBirth, ...texts });
    expect(chart.treatments).toMatchObject([{ treatmentId, rx: { daysSupply: expect.any(Number) } }]);
    expect(chart.documents).toMatchObject([
      { documentId: documentIds[0], isOfEncounter: true },
      { documentId: unnamed, isOfEncounter: false },
    ]);
    expect(chart.endedEncounters).toEqual([{ ...ended, visitUrl: null, information: [], addenda: [] }]);
    expect(chart.hasMore).toBe(false);
    expect(chart.documents[0].fileUrl).toMatch(/^https?:/);
    const decisions = [{ status: 'denied', denialReason: 'Contraindicated.' }];
    const { encounter_id } = earlier;
    expect(chart.earlierReviews).toMatchObject([{ encounter_id, clinicId, reviewerRef: reviewer, decisions }]);
    expect(chart.openEncounters).toMatchObject([{ encounter_id: other.encounter_id, status: 'pending_review' }]);
    expect(chart.supplies).toEqual([]);
    expect(await latestRow()).toMatchObject({
      patientIds: [patientId],
      reviewerRef: reviewer,
      status: 200,
      outcome: 'success',
    });
  });

  it('shows the visitUrl of the encounter under review, and null for one that another provider has claimed', async () => {
    const visitUrl = 'https://visits.northwind.example/1';
    const { patientId, encounter_id: other } = await newEncounter(harness, partner, {});
    const { encounter_id } = await newEncounter(harness, partner, { patientId });
    for (const [number, reviewerRef] of [
      [other, 'another'],
      [encounter_id, reviewer],
    ]) {
      const json = { reviewerRef, visitUrl };
      await call(harness, `POST /encounters/${number}/claim`, { token: partner.token, json });
    }
    const { encounter, openEncounters } = (await open(encounter_id)).body;
    expect(encounter.visitUrl).toBe(visitUrl);
    expect(openEncounters).toMatchObject([{ encounter_id: other, reviewerRef: 'another', visitUrl: null }]);
  });

  it('shows prescriptions as of the creation of the encounter, and names the treatments of earlier decisions', async () => {
    const treatmentIds = [await newProduct(harness, partner, { isRx: true })];
    treatmentIds.push(await newProduct(harness, partner, await ofProduct(treatmentIds[0])));
    const decision = { exceptTreatmentIds: treatmentIds.slice(1), rationale: 'The lower dose comes first.' };
    const first = await newEncounter(harness, partner, { treatmentIds });
    await reviewed(harness, partner, first, () => ({ decision: 'approved', ...decision }));
    const { patientId, clinicId } = first;
    const second = await newEncounter(harness, partner, { patientId, clinicId, treatmentIds });
    const where = { tenantId: partner.tenantId, productId: { in: treatmentIds } };
    const { rxQty } = await harness.domain.db.prisma.productRx.findFirstOrThrow({ where });
    await harness.domain.db.prisma.productRx.updateMany({ where, data: { rxQty: rxQty + 1 } });
    await claim(harness, partner, second);
    const { body: chart } = await open(second.encounter_id);
    expect(chart.treatments[0].rx).toMatchObject({ rxQty });
    const [{ name }, other] = chart.treatments;
    const treatments = [
      { treatmentId: treatmentIds[0], name, status: 'approved' },
      { treatmentId: treatmentIds[1], name: other.name, status: 'declined' },
    ];
    const { rationale } = decision;
    expect(chart.earlierReviews).toMatchObject([{ decisions: [{ status: 'approved', treatments, rationale }] }]);
  });

  it('shows a treatment of an approved item as superseded after a later decision about it alone', async () => {
    const first = await newProduct(harness, partner);
    const treatmentIds = [first, await newProduct(harness, partner, await ofProduct(first))];
    const both = await completedEncounter(harness, partner, { treatmentIds });
    const { patientId, clinicId } = both;
    const body = { patientId, clinicId, treatmentIds: [first] };
    await reviewed(harness, partner, await newEncounter(harness, partner, body), deny);
    const { encounter_id } = await claimedEncounter(harness, partner, body);
    const [denial, approval] = (await open(encounter_id)).body.earlierReviews;
    expect(denial.decisions).toMatchObject([{ treatments: [{ treatmentId: first, status: 'denied' }] }]);
    const statuses = [{ status: 'superseded' }, { status: 'approved' }];
    expect(approval.decisions).toMatchObject([{ status: 'approved', treatments: statuses }]);
    const shown = await call(harness, `GET /encounters/${both.encounter_id}`, partner);
    expect(shown.body.gfe_data).toMatchObject([{ status: 'approved', treatmentIds, endedTreatmentIds: [first] }]);
  });

  it('shows the information exchanged in an earlier encounter that is reviewed', async () => {
    const asked = await askedEncounter(harness, partner);
    const { encounter_id, patientId } = asked;
    const json = { additionalNotes: 'Takes anticoagulants.' };
    await call(harness, `POST /encounters/${encounter_id}/information`, { token: partner.token, json });
    await reviewed(harness, partner, asked);
    const { information } = (await call(harness, `GET /encounters/${encounter_id}`, partner)).body;
    expect(information).toMatchObject([{ message: 'Which medication?', ...json }]);
    const other = await claimedEncounter(harness, partner, { patientId });
    expect((await open(other.encounter_id)).body.earlierReviews).toMatchObject([{ encounter_id, information }]);
  });

  it('shows other open encounters with an equal item as duplicates, even at another clinic', async () => {
    const body = await encounterBody(harness, partner);
    const { patientId, treatmentIds } = body;
    const same = await newEncounter(harness, partner, { patientId, treatmentIds });
    await newEncounter(harness, partner, { patientId });
    const { encounter_id } = await claimedEncounter(harness, partner, body);
    const { clinicId, gfe_data } = same;
    const { categoryId, subcategoryId } = gfe_data[0];
    const duplicate = { encounter_id: same.encounter_id, clinicId, categoryId, subcategoryId };
    const chart = (await open(encounter_id)).body;
    expect(chart.openEncounters).toHaveLength(2);
    expect(chart.duplicates).toMatchObject([duplicate]);
    expect(chart.duplicates).toHaveLength(1);
  });

  it('shows an order line whose approval has expired as held, even if no sweep has run', async () => {
    const completed = await completedEncounter(harness, partner);
    const { supplies } = await atTime(harness, partner, completed.gfe_data[0].validUntil, async (then) => {
      const { encounter_id } = await claimedEncounter(harness, then, { patientId: completed.patientId });
      return (await open(encounter_id, reviewer, then)).body;
    });
    expect(supplies).toMatchObject([{ order_no: completed.order_no, status: 'pending', holdReason: 'expired' }]);
  });

  it('shows what was ordered and sent for the patient, at every clinic, latest first', async () => {
    const patientId = await newPatient(harness, partner);
    const clinicId = await newClinic(harness, partner);
    const first = await completedEncounter(harness, partner, { patientId });
    await fulfil(harness, partner, first.order_no, 'accepted', 'shipped');
    const second = await completedEncounter(harness, partner, { patientId, clinicId });
    const { encounter_id } = await claimedEncounter(harness, partner, { patientId });
    const { supplies } = (await open(encounter_id)).body;
    const [line] = (await getOrder(harness, partner, first.order_no)).body.lines;
    expect(supplies).toMatchObject([
      { order_no: second.order_no, clinicId, status: 'pending', shippedAt: null, holdReason: null },
      { order_no: first.order_no, treatmentId: line.treatmentId, status: 'shipped', shippedAt: expect.any(String) },
    ]);
  });

  it('shows at most 100 documents that the encounter does not name, and sets hasMore if there are more', async () => {
    const patientId = await newPatient(harness, partner);
    const claimed = await claimedEncounter(harness, partner, { patientId });
    const chart = async () => (await open(claimed.encounter_id)).body;
    const context = await callerContext(harness, partner, () => harness.clock.now);
    const upload = () => insertDocumentRow(context, patientId, 'lab-results');
    for (let count = 0; count < 100; count += 1) await upload();
    expect(await chart()).toMatchObject({ documents: { length: 100 }, hasMore: false });
    await upload();
    expect(await chart()).toMatchObject({ documents: { length: 100 }, hasMore: true });
  });

  it('shows at most 100 encounters that ended without a review, and sets hasMore if there are more', async () => {
    const body = await encounterBody(harness, partner);
    const claimed = await claimedEncounter(harness, partner, body);
    const chart = async () => (await open(claimed.encounter_id)).body;
    const { id } = await cancelled(harness, partner, await newEncounter(harness, partner, body));
    await copyEncounter(observer, id, 99);
    expect(await chart()).toMatchObject({ endedEncounters: { length: 100 }, hasMore: false });
    await copyEncounter(observer, id, 1);
    expect(await chart()).toMatchObject({ endedEncounters: { length: 100 }, hasMore: true });
  });
});

describe('getChart 409', () => {
  it('refuses callers that do not hold a claim in force, and audits patient and reviewerRef', async () => {
    const claimed = await claimedEncounter(harness, partner);
    const others = await newClient(harness, partner.tenantId);
    const lapsed = await claim(harness, partner, await newEncounter(harness, partner), { leaseSeconds: 1 });
    harness.clock.advance(1);
    const cases: [string, Answer['body'], string, { token: string }, string][] = [
      ['another provider', claimed, 'Dr B', partner, 'claimed_by_other'],
      ['the reviewerRef from another API client', claimed, reviewer, others, 'claimed_by_other'],
      ['an unclaimed encounter', await newEncounter(harness, partner), reviewer, partner, 'invalid_state'],
      ['an ended lease', lapsed, reviewer, partner, 'invalid_state'],
      ['a completed review', await completedEncounter(harness, partner), reviewer, partner, 'invalid_state'],
    ];
    for (const [name, { encounter_id, patientId }, reviewerRef, client, code] of cases) {
      const { status, body } = await open(encounter_id, reviewerRef, { ...partner, ...client });
      expect([name, status, body.code]).toEqual([name, 409, code]);
      const refusal = { status: 409, code, outcome: 'refused' };
      const row = { resourceId: String(encounter_id), patientIds: [patientId], reviewerRef, ...refusal };
      expect(await latestRow()).toMatchObject(row);
    }
  });
});
