import { createHash } from 'node:crypto';
import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProblemCode } from '../../src/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newPartner, newPatient } from '../support/factories.js';
import { whileKeyIsUsed } from '../support/keys.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectProblem, tokenWithout, withoutDatabase } from '../support/refusals.js';

const absent = '01a10caf-a4c0-7000-8000-00000000dead';
const mebibyte = 1024 * 1024;
/** A PNG of this size; readers ignore the padding after its end. */
const big = (size: number) => Buffer.concat([sampleFiles.png, Buffer.alloc(size - sampleFiles.png.length)]);
const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

const host = await startFileHost();
/** An allowed host that has closed its port. */
const silent = await startFileHost();
await silent.close();
const environment = { DOCUMENT_FETCH_ALLOWED_HOSTS: `${host.host},${silent.host}` };
const harness = await startHarness({ environment });
afterAll(() => Promise.all([harness.close(), host.close()]));
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
// After every test, each row has its object and each object has its row.
afterEach(async () => {
  expect(await objects()).toHaveLength((await rows()).length);
});

describe('uploadPatientDocument 200', () => {
  it('returns exactly the stored document', async () => {
    const { status, headers, body } = await upload({ url });
    const now = harness.clock.now.toISOString();
    const { tenantId, clientId } = partner;
    const { id: uploadedById } = await harness.domain.db.prisma.apiClient.findFirstOrThrow({
      where: { tenantId, clientId },
    });
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

  it('stores a row whose name, size and checksum agree with the stored object', async () => {
    const {
      body: { documentId: id, userDocument },
    } = await upload({ url, fileName: 'Blood test.pdf' });
    const row = await harness.domain.db.prisma.document.findUniqueOrThrow({
      where: { tenantId_id: { tenantId: partner.tenantId, id } },
    });
    const { blobPath, contentType, sizeBytes, checksum, docType, fileName, container, storageProvider } = userDocument;
    expect(row).toMatchObject({
      patientId,
      blobPath,
      contentType,
      sizeBytes,
      checksum,
      docType,
      fileName,
      container,
      storageProvider,
      originalFilename: 'blood.pdf',
      createdAt: harness.clock.now,
    });
    const object = await readFile(join(folder(), blobPath));
    expect([sha256(object), object.length]).toEqual([checksum, sizeBytes]);
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
  const failure: Served = (_, response) => void response.writeHead(500).end(sampleFiles.pdf);
  const breakdown: Served = (request) => void request.socket.destroy();
  /** Declares a size, so that it is refused before its content arrives. */
  const declared =
    (size: number): Served =>
    (_, response) =>
      response.writeHead(200, { 'content-length': size }).flushHeaders();
  const asPdf = (content: Buffer): Served => ({ content, headers: { 'content-type': 'application/pdf' } });
  const tiff: Served = { content: sampleFiles.tiff, headers: { 'content-type': 'image/tiff' } };
  const archive: Served = { content: Buffer.from('PK\x03\x04\x14\0\0\0', 'latin1') };

  const wrongFiles: [ProblemCode, string, Served, (Upload & { fileName?: string })?][] = [
    ['document_url_forbidden', 'a redirect to a metadata service', redirect],
    ['document_fetch_failed', 'an error of the host', failure],
    ['document_fetch_failed', 'a connection that breaks', breakdown],
    ['document_empty', 'no content', asPdf(Buffer.alloc(0))],
    ['document_too_large', 'a declared size of 20 MiB and a byte', declared(20 * mebibyte + 1)],
    ['document_too_large', 'an undeclared size of 20 MiB and a byte', { content: big(20 * mebibyte + 1) }],
    ['document_too_large', 'an id-card of 10 MiB and a byte', declared(10 * mebibyte + 1), { type: 'id-card' }],
    ['document_type_not_allowed', 'a page', asPdf(Buffer.from('<html>'))],
    ['document_type_not_allowed', 'an id-card as TIFF', tiff, { type: 'id-card' }],
    ['document_type_not_allowed', 'an archive', archive],
    ['document_type_mismatch', 'a PNG declared as PDF', asPdf(sampleFiles.png)],
    ['document_type_mismatch', 'a PDF called .png', { content: sampleFiles.pdf }, { fileName: 'scan.png' }],
  ];
  const fileTitle = ([code, what]: (typeof wrongFiles)[number]): string => `${code}: ${what}`;

  it('refuses a file that it cannot accept, and keeps no row and no object', () =>
    everyCase(wrongFiles, fileTitle, async ([code, , answer, { fileName, ...options } = {}]) => {
      const before = await rows();
      const file = host.serve('/file', answer);
      const refusal = await upload(fileName ? { url: file, fileName } : { url: file }, options);
      expectProblem(refusal, 400, code);
      expect(await rows()).toEqual(before);
      expect(await objects()).toHaveLength(before.length);
      expect(refusal.text).not.toContain(host.host);
    }));

  it('answers document_fetch_failed when the host refuses the connection', async () => {
    expectProblem(await upload({ url: `http://${silent.host}/` }), 400, 'document_fetch_failed');
  });
});

describe('uploadPatientDocument 401', () => {
  it('fetches no file for a caller without token or permission, nor while the database is down', async () => {
    const before = host.connections();
    expectProblem(await upload({ url }, { token: undefined }), 401, 'token_missing');
    const token = await tokenWithout(harness, partner, 'write:document');
    expectProblem(await upload({ url }, { token }), 403, 'insufficient_permission');
    expectProblem(await withoutDatabase(harness, () => upload({ url })), 503, 'dependency_unavailable');
    expect(host.connections()).toBe(before);
  });

  it("answers patient_access_denied alike for an unknown patient and another tenant's, and fetches no file", async () => {
    const foreign = await newPatient(harness, await newPartner(harness));
    const before = host.connections();
    const headers = { 'X-Request-Id': absent };
    const answers = [
      await upload({ url }, { patient: foreign, headers }),
      await upload({ url }, { patient: absent, headers }),
    ];
    for (const answer of answers) {
      expectProblem(answer, 401, 'patient_access_denied');
      // The token is valid: an error attribute would tell the client to renew it.
      expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer realm="clinical-encounter"');
      expect(answer.text).toBe(answers[0]?.text);
    }
    for (const wrong of ['https://127.0.0.1/', 'nonsense://x', `http://${silent.host}/`]) {
      for (const patient of [foreign, absent]) {
        expectProblem(await upload({ url: wrong }, { patient }), 401, 'patient_access_denied');
      }
    }
    expect(host.connections()).toBe(before);
  });
});

describe('uploadPatientDocument 409', () => {
  it('sends Retry-After while another request with the same Idempotency-Key is in progress, and keeps no object', async () => {
    const send = () => upload({ url }, { headers: { 'Idempotency-Key': 'slow' } });
    const answer = await whileKeyIsUsed(harness, partner, 'uploadPatientDocument', 'slow', send);
    expectProblem(answer, 409, 'idempotency_in_progress');
    expect(answer.headers.get('Retry-After')).toBe('1');
    expect((await send()).status).toBe(200);
  });
});

describe('uploadPatientDocument 503', () => {
  it('answers 503 while the object store is down, and stores no row', async () => {
    const before = await rows();
    const [incoming, elsewhere] = [join(folder(), '.incoming'), join(harness.dataDir, 'elsewhere')];
    await rename(incoming, elsewhere);
    expectProblem(await upload({ url }), 503, 'dependency_unavailable');
    await rename(elsewhere, incoming);
    expect(await rows()).toEqual(before);
    expect((await upload({ url })).status).toBe(200);
  });
});
