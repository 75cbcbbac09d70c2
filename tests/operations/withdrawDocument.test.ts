import { erasePatient } from '../../src/domain/sweeps/erase.js';
import { inTransaction } from '../../src/domain/transactions/transaction.js';
import { newDocument, newPartner, newPatient } from '../support/factories.js';
import { sampleFiles } from '../support/fileHost.js';
import { openHarnessWithHost } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { claimedEncounter, reviewBody, reviewer } from '../support/reviews.js';

const { harness, host } = await openHarnessWithHost();
const partner = await newPartner(harness);
const { prisma } = harness.domain.db;
const { tenantId } = partner;

const send = (target: `${'GET' | 'POST'} /${string}`, json?: object, token = partner.token): Promise<Answer> =>
  call(harness, target, { token, ...(json && { json }) });
const withdraw = (documentId: string, reason = 'wrong_patient', token?: string): Promise<Answer> =>
  send(`POST /documents/${documentId}/withdraw`, { reason }, token);
const upload = async (patientId: string, docType: string): Promise<Answer['body']> => {
  const json = { url: host.serve('/scan.png', { content: sampleFiles.png }) };
  return (await send(`POST /clients-documents/${patientId}/upload-url/${docType}`, json)).body;
};
const events = (documentId: string) =>
  prisma.event.findMany({
    where: { tenantId, type: 'document_withdrawn', data: { path: ['documentId'], equals: documentId } },
  });
const factsOf = async (id: string): Promise<bigint> =>
  (await prisma.patient.findUniqueOrThrow({ where: { tenantId_id: { tenantId, id } } })).factsVersion;
const chartOf = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  (await send(`GET /encounters/${encounter_id}/chart?reviewerRef=${reviewer}`)).body;

describe('withdrawDocument 200', () => {
  it('ends the links to the document, returns it as withdrawn, and emits document.withdrawn', async () => {
    const patientId = await newPatient(harness, partner);
    const { documentId, fileUrl } = await upload(patientId, 'lab-results');
    const { body: read } = await send(`GET /documents/${documentId}`);
    expect((await fetch(fileUrl)).status).toBe(200);
    harness.clock.advance(60);
    const { status, body } = await withdraw(documentId);
    const { fileUrl: _link, ...document } = read;
    const withdrawn = { reason: 'wrong_patient', at: harness.clock.now.toISOString() };
    expect([status, body]).toEqual([200, { ...document, withdrawn }]);
    const data = { documentId, user_id: patientId, docType: 'lab-results' };
    expect(await events(documentId)).toMatchObject([{ data, clinicId: null, timestamp: harness.clock.now }]);
    for (const link of [fileUrl, read.fileUrl]) expect((await fetch(link)).status).toBe(403);
    expect((await send(`GET /documents/${documentId}`)).body).toEqual({ ...body, fileUrl: null });
  });

  it('answers a repeated request with the same reason like the first one, without a second event', async () => {
    const patientId = await newPatient(harness, partner);
    const documentId = await newDocument(harness, partner, patientId);
    const first = await withdraw(documentId);
    const facts = await factsOf(patientId);
    harness.clock.advance(60);
    const second = await withdraw(documentId);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect([await factsOf(patientId), (await events(documentId)).length]).toEqual([facts, 1]);
  });

  it.each([
    ['lab-results', 1],
    ['id-card', 0],
  ])('raises factsVersion by 1 for a document of type %s, whose upload raises it by %d', async (docType, count) => {
    const patientId = await newPatient(harness, partner);
    const before = await factsOf(patientId);
    const { documentId } = await upload(patientId, docType);
    const uploaded = await factsOf(patientId);
    await withdraw(documentId);
    const withdrawn = await factsOf(patientId);
    expect([uploaded - before, withdrawn - uploaded].map(Number)).toEqual([count, 1]);
  });

  it('changes the chart of an encounter in review, which shows a document that the encounter names as withdrawn', async () => {
    const patientId = await newPatient(harness, partner);
    const [named, other] = [
      await newDocument(harness, partner, patientId),
      await newDocument(harness, partner, patientId),
    ];
    const claimed = await claimedEncounter(harness, partner, { patientId, documentIds: [named] });
    for (const documentId of [other, named]) {
      const read = await reviewBody(harness, partner, claimed);
      await withdraw(documentId, 'superseded');
      const answer = await send(`POST /encounters/${claimed.encounter_id}/review`, read);
      expectProblem(answer, 409, 'chart_changed');
      expect(answer.body.changed).toEqual(['documents']);
    }
    const chart = await chartOf(claimed);
    const { body } = await send(`GET /documents/${named}`);
    const { fileUrl, ...withdrawn } = body;
    expect([chart.documents, chart.withdrawnDocuments, fileUrl]).toEqual([[], [withdrawn], null]);
    expect(chart.encounter.documentIds).toEqual([named]);
    const review = await reviewBody(harness, partner, claimed);
    expect((await send(`POST /encounters/${claimed.encounter_id}/review`, review)).status).toBe(200);
  });

  it('leaves the file to the erasure of the patient, after which it answers document_not_found', async () => {
    const patientId = await newPatient(harness, partner);
    const { documentId, userDocument } = await upload(patientId, 'lab-results');
    await withdraw(documentId);
    const { objects } = await inTransaction(harness.domain, (transaction) =>
      erasePatient(transaction, tenantId, patientId),
    );
    expect(objects).toEqual([userDocument.blobPath]);
    expectProblem(await withdraw(documentId), 404, 'document_not_found');
  });
});
