import { newPartner, newPatient } from '../support/factories.js';
import { sampleFiles } from '../support/fileHost.js';
import { openHarnessWithHost } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';

const { harness, host } = await openHarnessWithHost();
const partner = await newPartner(harness);

const get = (documentId: string, token = partner.token): Promise<Answer> =>
  call(harness, `GET /documents/${documentId}`, { token });

describe('getDocument 200', () => {
  it('returns the document with a new link, which works at once but not after 901 seconds', async () => {
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
});
