import { createHash } from 'node:crypto';
import { readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { addCheckpoints } from '../../../src/domain/audit/checkpoints.js';
import { newPartner, newPatient } from '../../support/factories.js';
import { sampleFiles } from '../../support/fileHost.js';
import { openHarnessWithHost } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { withoutTable } from '../../support/refusals.js';

const { harness, host } = await openHarnessWithHost();
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);

const upload = (fileName = 'blood.pdf'): Promise<Answer> => {
  const json = { url: host.serve('/blood.pdf', { content: sampleFiles.pdf }), fileName };
  return call(harness, `POST /clients-documents/${patientId}/upload-url/lab-results`, { token: partner.token, json });
};

type Uploaded = Readonly<Record<'id' | 'fileUrl' | 'blobPath' | 'checksum', string>>;

async function uploaded(fileName?: string): Promise<Uploaded> {
  const { status, body } = await upload(fileName);
  expect(status).toBe(200);
  return body.userDocument;
}

async function load(fileUrl: string, options: RequestInit = {}) {
  const response = await fetch(fileUrl, { redirect: 'manual', ...options });
  const content = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, content };
}

describe('the link to a document', () => {
  it('serves the file without a token, as an attachment with the CSP directive sandbox', async () => {
    const document = await uploaded('Bücher "1".pdf');
    const { status, headers, content } = await load(document.fileUrl);
    expect([status, createHash('sha256').update(content).digest('hex')]).toEqual([200, document.checksum]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-disposition': expect.stringMatching(/^attachment; .*filename\*=UTF-8''B%C3%BCcher%20%221%22\.pdf$/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
    });
  });

  it('is never logged, and contains no file name, which proxies would log', async () => {
    const { fileUrl, blobPath } = await uploaded('Jane Miller HIV.pdf');
    await load(fileUrl);
    const link = fileUrl.split('/').at(-1) ?? '';
    expect(JSON.stringify(harness.logged)).not.toContain(link);
    const content = Buffer.from(link.split('.')[1] ?? '', 'base64url').toString();
    expect(JSON.parse(content)).toEqual({ key: blobPath, exp: expect.any(Number) });
  });

  const rowsOf = ({ id }: Uploaded) =>
    harness.domain.db.prisma.auditEvent.findMany({
      where: { tenantId: partner.tenantId, operationId: 'openDocumentLink', resourceId: id },
      orderBy: { position: 'asc' },
    });

  it('records each download in the audit of the patient, but no refused request', async () => {
    const document = await uploaded();
    const { headers } = await load(document.fileUrl);
    await load(document.fileUrl, { headers: { Range: 'bytes=0-3' } });
    expect((await load(`${document.fileUrl}x`)).status).toBe(403);
    expect(await rowsOf(document)).toHaveLength(2);
    await addCheckpoints(harness.domain);
    const query = `patientId=${patientId}&operationId=openDocumentLink&limit=100`;
    const { body } = await call(harness, `GET /audit-events?${query}`, partner);
    const requestId = headers.get('X-Request-Id');
    const caller = { clientId: null, ip: '127.0.0.1', reviewerRef: null };
    const resource = { resourceType: 'document', resourceId: document.id, patientIds: [patientId] };
    const result = { status: 200, code: null, outcome: 'success' };
    const operation = { operationId: 'openDocumentLink', requestId, at: harness.clock.now.toISOString() };
    const row = body.data.find((each: { requestId: string }) => each.requestId === requestId);
    expect(row).toEqual({ ...operation, ...caller, ...resource, ...result });
  });

  it('answers 503 without the file while the audit row cannot be written', async () => {
    const { fileUrl } = await uploaded();
    const refused = await withoutTable(harness, 'audit_event', () => load(fileUrl));
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(refused.content.includes('%PDF')).toBe(false);
    expect((await load(fileUrl)).status).toBe(200);
  });

  it('answers 503 with Retry-After as plain text while the disk cannot read the file', async () => {
    const { fileUrl, blobPath } = await uploaded();
    const file = join(harness.dataDir, 'documents', blobPath);
    await rm(file);
    await symlink(file, file);
    const { status, headers } = await load(fileUrl);
    expect([status, headers.get('Retry-After'), headers.get('Content-Type')]).toEqual([
      503,
      '5',
      'text/plain; charset=utf-8',
    ]);
  });

  it('answers 403 if the document is not in the database', async () => {
    const { id, fileUrl } = await uploaded();
    await harness.domain.db.prisma.document.deleteMany({ where: { tenantId: partner.tenantId, id } });
    expect((await load(fileUrl)).status).toBe(403);
  });
});

describe('a connection that breaks while the row is written', () => {
  it('makes the upload answer 503 and remove its object, because no COMMIT was sent', async () => {
    const { db } = harness.domain;
    await db.prisma.$executeRawUnsafe(`CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`);
    await db.prisma.$executeRawUnsafe(
      'CREATE TRIGGER hang_up BEFORE INSERT ON document FOR EACH ROW EXECUTE FUNCTION hang_up()',
    );
    const newest = harness.domain.newId();
    const answer = await upload('kept.pdf');
    await db.prisma.$executeRawUnsafe('DROP TRIGGER hang_up ON document');
    expect([answer.status, answer.body.code]).toEqual([503, 'dependency_unavailable']);
    const folder = join(harness.dataDir, 'documents', partner.tenantId, 'clients', patientId, 'lab-results');
    expect((await readdir(folder)).filter((documentId) => documentId > newest)).toEqual([]);
    expect((await upload()).status).toBe(200);
  });
});
