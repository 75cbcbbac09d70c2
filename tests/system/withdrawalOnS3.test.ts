import { newPartner, newPatient } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';

(hasS3Server() ? describe : describe.skip)('a document in an S3 store', () => {
  let s3: S3Server;
  let files: FileHost;
  let harness: Harness;
  beforeAll(async () => {
    s3 = await startS3Server();
    files = await startFileHost();
    harness = await startHarness({ environment: { ...s3.environment, DOCUMENT_FETCH_ALLOWED_HOSTS: files.host } });
  });
  afterAll(async () => {
    await harness.close();
    await files.close();
    await s3.close();
  });

  it('has a link that works for 15 minutes, and gets no link after its withdrawal', async () => {
    // The store checks links by its own clock.
    harness.clock.now = new Date();
    const partner = await newPartner(harness);
    const { token } = partner;
    const json = { url: files.serve('/scan.pdf', { content: sampleFiles.pdf }) };
    const patientId = await newPatient(harness, partner);
    const { body } = await call(harness, `POST /clients-documents/${patientId}/upload-url/lab-results`, {
      token,
      json,
    });
    const read = async () => (await call(harness, `GET /documents/${body.documentId}`, { token })).body.fileUrl;
    const link = await read();
    expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe('900');
    expect((await fetch(link)).status).toBe(200);
    const withdrawal = { token, json: { reason: 'wrong_patient' } };
    expect((await call(harness, `POST /documents/${body.documentId}/withdraw`, withdrawal)).status).toBe(200);
    expect(await read()).toBeNull();
    // The store, and not the service, ends a link that was issued before.
    expect((await fetch(link)).status).toBe(200);
    expect(await s3.keys()).toEqual([body.userDocument.blobPath]);
  });
});
