import { newClient, newClinic, newDocument, newPartner, newPatient } from '../support/factories.js';
import { sampleFiles } from '../support/fileHost.js';
import { openHarnessWithHost } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';

const { harness, host } = await openHarnessWithHost();
const partner = await newPartner(harness);

const get = (documentId: string, token = partner.token): Promise<Answer> =>
  call(harness, `GET /documents/${documentId}`, { token });

describe('getDocument 200', () => {
  it('returns the document with a new link, which works for 900 seconds', async () => {
    const patientId = await newPatient(harness, partner);
    const json = { url: host.serve('/card.png', { content: sampleFiles.png }) };
    const target = `POST /clients-documents/${patientId}/upload-url/id-card` as const;
    const { body: uploaded } = await call(harness, target, { token: partner.token, json });
    harness.clock.advance(901);
    expect((await fetch(uploaded.fileUrl)).status).toBe(403);
    const { status, headers, body } = await get(uploaded.documentId);
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    const { fileName, contentType, sizeBytes, createdAt } = uploaded.userDocument;
    expect(body).toEqual({
      ...{ documentId: uploaded.documentId, user_id: patientId, docType: 'id-card', withdrawn: null },
      ...{ fileName, contentType, sizeBytes, createdAt, fileUrl: expect.any(String) },
    });
    const file = await fetch(body.fileUrl);
    expect(Buffer.from(await file.arrayBuffer())).toEqual(Buffer.from(sampleFiles.png));
    harness.clock.advance(901);
    expect((await fetch(body.fileUrl)).status).toBe(403);
  });

  it('writes an audit row about a read of the patient', async () => {
    const patientId = await newPatient(harness, partner);
    const resourceId = await newDocument(harness, partner, patientId);
    await get(resourceId);
    const where = { tenantId: partner.tenantId, operationId: 'getDocument', patientIds: { has: patientId } };
    const rows = await harness.domain.db.prisma.auditEvent.findMany({ where });
    expect(rows).toMatchObject([{ status: 200, resourceType: 'document', resourceId }]);
  });
});

describe('getDocument 404', () => {
  it('answers 404 to a client limited to clinics for a document of a patient that it may not see', async () => {
    const documentId = await newDocument(harness, partner, await newPatient(harness, partner));
    const clinicId = await newClinic(harness, partner);
    const { token } = await newClient(harness, partner.tenantId, ['read:document'], [clinicId]);
    expectProblem(await get(documentId, token), 404, 'document_not_found');
  });
});
