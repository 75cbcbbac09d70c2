import { createHash } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProblemCode } from '../../src/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newPartner, newPatient } from '../support/factories.js';
import { sampleFiles, type FileHost } from '../support/fileHost.js';
import { openHarnessWithHost } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectProblem, tokenWithout, withoutDatabase } from '../support/refusals.js';

const absent = '01a10caf-a4c0-7000-8000-00000000dead';
const mebibyte = 1024 * 1024;
/** A PNG of this size; readers ignore the padding after its end. */
const big = (size: number) => Buffer.concat([sampleFiles.png, Buffer.alloc(size - sampleFiles.png.length)]);
const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

const { harness, host } = await openHarnessWithHost();
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);
const pdf = { content: sampleFiles.pdf, headers: { 'content-type': 'application/pdf' } };
const url = host.serve('/results/blood.pdf?sig=secret', pdf);

interface Upload extends CallOptions {
  readonly patient?: string;
  readonly type?: string;
}

const upload = (
  json: unknown,
  { patient = patientId, type = 'lab-results', ...options }: Upload = {},
): Promise<Answer> =>
  call(harness, `POST /clients-documents/${patient}/upload-url/${type}`, { token: partner.token, json, ...options });
const rows = () => harness.domain.db.prisma.document.findMany({ where: { tenantId: partner.tenantId } });
const folder = () => join(harness.dataDir, 'documents');
/** Every file in the object store, including unfinished ones. */
const objects = async (): Promise<string[]> =>
  (await readdir(folder(), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
// After every test there are as many objects as rows.
afterEach(async () => {
  expect(await objects()).toHaveLength((await rows()).length);
});

describe('uploadPatientDocument 200', () => {
  it('returns the whole document, including link, size and checksum', async () => {
    const { status, headers, body } = await upload({ url });
    const now = harness.clock.now.toISOString();
    const { tenantId, clientId } = partner;
    const where = { tenantId, clientId };
    const { id: uploadedById } = await harness.domain.db.prisma.apiClient.findFirstOrThrow({ where });
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      message: 'Document uploaded successfully',
      documentId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      fileUrl: expect.any(String),
      userDocument: {
        id: body.documentId,
        user_id: patientId,
        clientId: patientId,
        clinicId: null,
        storageProvider: 'file',
        container: 'documents',
        blobPath: `${tenantId}/clients/${patientId}/lab-results/${body.documentId}`,
        fileUrl: body.fileUrl,
        contentType: 'application/pdf',
        sizeBytes: sampleFiles.pdf.length,
        checksum: sha256(sampleFiles.pdf),
        docType: 'lab-results',
        fileName: 'blood.pdf',
        metadata: { uploadedById, originalFilename: 'blood.pdf' },
        createdAt: now,
        updatedAt: now,
      },
    });
  });

  it('keeps only the last segment of a file name, and generates a missing name', async () => {
    const named = await upload({ url, fileName: '../../etc/..\\pass\u202ewd.pdf' });
    expect(named.body.userDocument).toMatchObject({
      fileName: 'passwd.pdf',
      metadata: { originalFilename: 'blood.pdf' },
    });
    const { body } = await upload({ url: host.serve('/', { content: sampleFiles.pdf }) });
    expect(body.userDocument.fileName).toBe(`lab-results-${body.documentId}.pdf`);
  });
});

describe('uploadPatientDocument 400', () => {
  type Served = Parameters<FileHost['serve']>[1];
  const redirect: Served = (_, response) =>
    void response.writeHead(302, { location: 'https://169.254.169.254/latest/meta-data/' }).end();
  const breakdown: Served = (request) => void request.socket.destroy();
  /** Declares a size, so that it is refused before its content arrives. */
  const large: Served = (_, response) =>
    response.writeHead(200, { 'content-length': 10 * mebibyte + 1 }).flushHeaders();
  const png: Served = { content: sampleFiles.png, headers: { 'content-type': 'application/pdf' } };
  const wrongFiles: [ProblemCode, string, Served, Upload?][] = [
    ['document_url_forbidden', 'a redirect to a metadata service', redirect],
    ['document_fetch_failed', 'a connection that breaks', breakdown],
    ['document_too_large', 'an undeclared size of 20 MiB and a byte', { content: big(20 * mebibyte + 1) }],
    ['document_too_large', 'an id-card of 10 MiB and a byte', large, { type: 'id-card' }],
    ['document_type_mismatch', 'a PNG declared as PDF', png],
  ];
  const fileTitle = ([code, what]: (typeof wrongFiles)[number]): string => `${code}: ${what}`;

  it('refuses a file that it cannot accept, and keeps no row and no object', () =>
    everyCase(wrongFiles, fileTitle, async ([code, , answer, options]) => {
      const before = await rows();
      const refusal = await upload({ url: host.serve('/file', answer) }, options);
      expectProblem(refusal, 400, code);
      expect(await rows()).toEqual(before);
      expect(await objects()).toHaveLength(before.length);
      expect(refusal.text).not.toContain(host.host);
    }));

  it('logs why a file could not be fetched, without its host, and tells the caller only that', async () => {
    const { text, headers } = await upload({ url: host.serve('/file', breakdown) });
    const requestId = headers.get('X-Request-Id');
    const line = harness.logged.find(({ msg, requestId: id }) => msg === 'document not fetched' && id === requestId);
    expect(line).toMatchObject({ code: 'document_fetch_failed', causes: [{}, { message: 'ECONNRESET' }] });
    expect(JSON.stringify(line)).not.toContain(host.host);
    expect(text).not.toContain('ECONNRESET');
  });
});

describe('uploadPatientDocument 401', () => {
  it('fetches no file for a caller without token or permission, for an unknown patient, or without a database', async () => {
    const before = host.connections();
    expectProblem(await upload({ url }, { patient: absent }), 401, 'patient_access_denied');
    expectProblem(await upload({ url }, { token: undefined }), 401, 'token_missing');
    const token = await tokenWithout(harness, partner, 'write:document');
    expectProblem(await upload({ url }, { token }), 403, 'insufficient_permission');
    expectProblem(await withoutDatabase(harness, () => upload({ url })), 503, 'dependency_unavailable');
    expect(host.connections()).toBe(before);
  });
});

describe('uploadPatientDocument 503', () => {
  it('answers 503 while the object store cannot be written, and stores no row', async () => {
    const before = await rows();
    const [incoming, elsewhere] = [join(folder(), '.incoming'), join(harness.dataDir, 'elsewhere')];
    await rename(incoming, elsewhere);
    expectProblem(await upload({ url }), 503, 'dependency_unavailable');
    await rename(elsewhere, incoming);
    expect(await rows()).toEqual(before);
    expect((await upload({ url })).status).toBe(200);
  });
});
