import { createHash } from 'node:crypto';
import { cast } from '../../support/cast.js';
import { newPartner, newPatient } from '../../support/factories.js';
import { sampleFiles } from '../../support/fileHost.js';
import { openHarnessWithHost } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { newSandbox } from '../../support/sandbox.js';

const { harness, host } = await openHarnessWithHost();
const partner = await newSandbox(harness);

const upload = (url: string, more: object = {}): Promise<Answer> =>
  call(harness, `POST /clients-documents/${cast.jane.id}/upload-url/intake-forms`, {
    token: partner.token,
    json: { url, ...more },
  });
const at = (path: string): string => `https://files.northwind.example${path}`;

describe('uploadPatientDocument in a sandbox', () => {
  it.each([
    ['/forms/jane.pdf', 'application/pdf'],
    ['/photo.JPG', 'image/jpeg'],
    ['/photo.jpeg?size=1', 'image/jpeg'],
    ['/scan.png', 'image/png'],
  ])('fetches %s from the examples’ host as %s', async (path, contentType) => {
    const { status, body } = await upload(at(path));
    expect([status, body.userDocument]).toMatchObject([200, { contentType }]);
    const file = await fetch(body.fileUrl);
    const content = Buffer.from(await file.arrayBuffer());
    expect([file.status, file.headers.get('Content-Type')]).toEqual([200, contentType]);
    const { sizeBytes, checksum } = body.userDocument;
    expect([sizeBytes, checksum]).toEqual([content.length, createHash('sha256').update(content).digest('hex')]);
  });

  it.each([
    ['an unknown file extension', at('/scan.tiff'), {}, 'document_fetch_failed'],
    ['no file extension', at('/'), {}, 'document_fetch_failed'],
    ['a file name of another type', at('/scan.png'), { fileName: 'scan.pdf' }, 'document_type_mismatch'],
    ['credentials', 'https://me:secret@files.northwind.example/a.pdf', {}, 'document_url_invalid'],
    ['http', 'http://files.northwind.example/a.pdf', {}, 'document_url_forbidden'],
  ] as const)('rejects a URL of the examples’ host with %s', async (_fault, url, more, code) => {
    expectProblem(await upload(url, more), 400, code);
  });

  it('fetches from another host if it is allowed, and refuses 127.0.0.1 with a hint at the examples’ host', async () => {
    const headers = { 'Content-Type': 'application/pdf' };
    expect((await upload(host.serve('/own.pdf', { content: sampleFiles.pdf, headers }))).status).toBe(200);
    const forbidden = await upload('https://127.0.0.1/own.pdf');
    expectProblem(forbidden, 400, 'document_url_forbidden');
    expect(forbidden.body.detail).toContain(at('/'));
  });
});

it('uploadPatientDocument has no sample files for a live tenant', async () => {
  const live = await newPartner(harness);
  const target = `POST /clients-documents/${await newPatient(harness, live)}/upload-url/intake-forms`;
  const url = 'https://files.northwind.example/a.pdf';
  expectProblem(await call(harness, target, { token: live.token, json: { url } }), 400, 'document_fetch_failed');
});
