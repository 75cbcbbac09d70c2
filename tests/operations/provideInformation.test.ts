import { newDocument, newEncounter, newPatient, newToken, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { expectProblem } from '../support/refusals.js';
import {
  askedEncounter,
  cancelled,
  claimedEncounter,
  completedEncounter,
  deny,
  eventsOf,
  recordOf,
  reviewBody,
  reviewed,
  reviewer,
} from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/information`, { token, json });
const details = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  (await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body;
const DAY = 24 * 3600;

const notes = { additionalNotes: 'None.' };
const absent = '01a10caf-a4c0-7000-8000-00000000dead';

describe('provideInformation 200', () => {
  it('adds a dated entry and appends documents, and returns the encounter to its place in the queue', async () => {
    const patientId = await newPatient(harness, partner);
    const upload = () => newDocument(harness, partner, patientId);
    const [first, second, third] = [await upload(), await upload(), await upload()];
    const asked = await askedEncounter(harness, partner, { patientId, documentIds: [first] });
    harness.clock.advance(60);
    const later = await newEncounter(harness, partner);
    const json = { additionalNotes: '0.5 mg.', documentIds: [third, first, second] };
    const { status, body } = await send(asked.encounter_id, json);
    expect(status).toBe(200);
    const now = harness.clock.now;
    const times = { expiresAt: new Date(now.getTime() + 30 * DAY * 1000).toISOString(), updatedAt: now.toISOString() };
    const documentIds = [first, third, second];
    expect(body).toEqual({ ...asked, ...times, status: 'pending_review', documentIds, version: 4 });
    const stored = await details(asked);
    expect(recordOf(stored)).toEqual(body);
    expect(stored.information).toMatchObject([{ providedAt: now.toISOString(), additionalNotes: '0.5 mg.' }]);
    const queue = await call(harness, 'GET /review-queue?serviceQueue=provider_network', { token: partner.token });
    const waiting = queue.body.data.map(({ encounter_id }: { encounter_id: number }) => encounter_id);
    expect(waiting).toEqual([asked.encounter_id, later.encounter_id]);
    const { encounter_id, gfe_no } = asked;
    const last = (await eventsOf(harness, asked)).at(-1);
    expect(last).toEqual(['encounter.information_provided', { encounter_id, gfe_no }]);
  });

  it('keeps a deadline that is later than the new one, and answers a second request for information', async () => {
    const scheduledDay = '2027-06-01';
    const { expiresAt } = await newEncounter(harness, partner, { scheduledDay });
    const { encounter_id } = await askedEncounter(harness, partner, { scheduledDay });
    expect((await send(encounter_id, notes)).body).toMatchObject({ expiresAt });
    for (const [action, json] of [
      ['claim', { reviewerRef: reviewer }],
      ['request-information', { reviewerRef: reviewer, message: 'Sure?' }],
    ] as const) {
      await call(harness, `POST /encounters/${encounter_id}/${action}`, { token: partner.token, json });
    }
    expect((await send(encounter_id, { additionalNotes: 'Yes.' })).status).toBe(200);
    const { information } = await details({ encounter_id });
    expect(information).toMatchObject([notes, { message: 'Sure?', additionalNotes: 'Yes.' }]);
  });

  it('adds an entry without a question while the encounter waits or is in review, and keeps status and claim', async () => {
    for (const make of [newEncounter, claimedEncounter]) {
      const before = await make(harness, partner);
      harness.clock.advance(60);
      const now = harness.clock.now.toISOString();
      const expiresAt = new Date(harness.clock.now.getTime() + 30 * DAY * 1000).toISOString();
      const { body } = await send(before.encounter_id, notes);
      expect(body).toEqual({ ...before, expiresAt, updatedAt: now, version: Number(before.version) + 1 });
      const entry = { requestedAt: now, reviewerRef: '', message: '', providedAt: now, ...notes };
      expect((await details(before)).information).toEqual([entry]);
      const { encounter_id, gfe_no } = before;
      const last = (await eventsOf(harness, before)).at(-1);
      expect(last).toEqual(['encounter.information_provided', { encounter_id, gfe_no }]);
    }
  });

  it('makes the chart that a provider has read outdated for submitReview, and sets factsChanged', async () => {
    const encounter = await claimedEncounter(harness, partner);
    const { patientId: id } = encounter;
    const document = await newDocument(harness, partner, id);
    const facts = async () =>
      (await harness.domain.db.prisma.patient.findFirstOrThrow({ where: { tenantId: partner.tenantId, id } }))
        .factsVersion;
    const [review, before] = [await reviewBody(harness, partner, encounter), await facts()];
    expect((await send(encounter.encounter_id, { ...notes, documentIds: [document] })).status).toBe(200);
    expect(await facts()).toBe(before + 1n);
    const submit = (json: object): Promise<Answer> =>
      call(harness, `POST /encounters/${encounter.encounter_id}/review`, { token: partner.token, json });
    const refused = await submit(review);
    expectProblem(refused, 409, 'chart_changed');
    expect(refused.body.changed).toContain('information');
    expect((await submit(await reviewBody(harness, partner, encounter))).status).toBe(200);
  });
});

describe('provideInformation 400', () => {
  it.each([
    ['an empty object', {}, '#', 'minProperties'],
    ['an empty list of documents', { documentIds: [] }, '#', 'minProperties'],
    ['blank notes', { additionalNotes: ' ' }, '#/additionalNotes', 'pattern'],
    ['a document in two spellings', { documentIds: [absent, absent.toUpperCase()] }, '#/documentIds/1', 'uniqueItems'],
  ])('refuses %s, and leaves the encounter unchanged', async (_what, json, pointer, code) => {
    const asked = await askedEncounter(harness, partner);
    expectProblem(await send(asked.encounter_id, json), 400, 'validation_failed', [{ pointer, code }]);
    expect(recordOf(await details(asked))).toEqual(asked);
  });
});

describe('provideInformation 404', () => {
  it("answers 404 for an unknown encounter or document and for another tenant's", async () => {
    const other = await newPartner(harness);
    const foreign = await askedEncounter(harness, other);
    for (const id of [foreign.encounter_id, 999_999_999]) {
      expectProblem(await send(id, notes), 404, 'encounter_not_found');
    }
    const asked = await askedEncounter(harness, partner);
    for (const id of [await newDocument(harness, other, foreign.patientId), absent]) {
      const answer = await send(asked.encounter_id, { documentIds: [id] });
      expectProblem(answer, 404, 'document_not_found', [{ pointer: '#/documentIds/0' }]);
    }
    expect(recordOf(await details(asked))).toEqual(asked);
  });
});

describe('provideInformation 409', () => {
  it('refuses a document of another patient', async () => {
    const asked = await askedEncounter(harness, partner);
    const id = await newDocument(harness, partner, await newPatient(harness, partner));
    const answer = await send(asked.encounter_id, { documentIds: [id] });
    expectProblem(answer, 409, 'document_patient_mismatch', [{ pointer: '#/documentIds/0' }]);
    expect(recordOf(await details(asked))).toEqual(asked);
  });

  it('refuses the 21st entry of an encounter', async () => {
    const { encounter_id } = await newEncounter(harness, partner);
    for (let count = 0; count < 20; count += 1) expect((await send(encounter_id, notes)).status).toBe(200);
    expectProblem(await send(encounter_id, notes), 409, 'too_many_records');
  });

  it('refuses information about a final encounter, or 14 days after the request', async () => {
    const refused = async (encounterNo: number, status: string, token = partner.token): Promise<void> => {
      expectInvalidState(await send(encounterNo, notes, { ...partner, token }), status);
    };
    for (const { encounter_id, status } of [
      await completedEncounter(harness, partner),
      await reviewed(harness, partner, await newEncounter(harness, partner), deny),
      await cancelled(harness, partner, await askedEncounter(harness, partner)),
    ])
      await refused(encounter_id, status);
    const late = await askedEncounter(harness, partner);
    harness.clock.now = new Date(late.expiresAt);
    await refused(late.encounter_id, 'expired', await newToken(harness, partner));
  });
});
